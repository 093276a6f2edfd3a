// Progress while it runs: every step is on stdout and in the output as soon as it is done. Follow it with
//     curl -N http://127.0.0.1:9371/processes/<id>/events
// Expected: success after about 0.5 s; five lines on stdout, one on stderr, `output.progress` ends at 100.

const STEPS = ["fetch the list", "read the entries", "remove duplicates", "sort", "write the report"];

for (const [index, step] of STEPS.entries()) {
  await new Promise<void>((resolve) => setTimeout(resolve, 100));
  console.log(`${index + 1}/${STEPS.length} ${step}`);
  if (step === "remove duplicates") console.warn("3 duplicates removed");
  // Later keys win: `progress` is replaced, the steps gather.
  cyrnel.output({ progress: ((index + 1) * 100) / STEPS.length, [`step${index + 1}`]: step });
}

return { steps: STEPS.length };
