// Calls functions of the program that runs it: how much a basket costs, article by article.
// Run it: npx cyrnel run examples/command/shopping.ts --local --tools examples/command/tools.ts
const basket = ["tea", "rope", "tea"];

let total = 0;
for (const article of basket) {
  const price = await tools.shop.price({ article });
  console.log(`${article}: ${price}`);
  total += price;
}
return { articles: basket.length, total };
