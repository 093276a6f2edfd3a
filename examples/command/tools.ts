// Tools for scripts on this machine: functions of a module that `cyrnel run --tools` loads, outside the sandbox.
const prices = new Map([
  ["tea", 3],
  ["rope", 9],
]);

export const shop = {
  price: async ({ article }: { article: string }) => {
    const price = prices.get(article);
    if (price === undefined) throw new Error(`There is no ${article}.`);
    return price;
  },
};
