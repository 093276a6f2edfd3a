// A Response is returned instead of its body.
// expect {"fails": "Response|json\\(\\)"}
return new Response("hi");
