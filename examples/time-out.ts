// A script that never ends. It does not let go of the processor, so nothing inside could stop it: its child process is
// killed from outside when the time is up. What it wrote before stays.
// Submit it with a limit of its own: {"options": {"timeout": 500}}.
// Expected: exit state `timeout`, reason `timeout`, the first line on stdout, no result.

console.log("looking for an even prime above 2");

function isPrime(candidate: bigint): boolean {
  for (let divisor = 2n; divisor * divisor <= candidate; divisor += 1n) {
    if (candidate % divisor === 0n) return false;
  }
  return true;
}

let candidate = 4n;
while (!isPrime(candidate)) candidate += 2n;

return `found ${candidate}`;
