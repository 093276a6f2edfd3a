// An object is thrown.
// expect {"fails": "E_CODE"}
throw { code: "E_CODE", detail: 7 };
