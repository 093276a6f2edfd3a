// Takes data out of a page of HTML with cheerio: a table as records, and links with the address of the page put before them.
// Expected: success; `result` holds three ports and two links.
import * as cheerio from "cheerio";

const PAGE = "https://ports.example/list/";
const HTML = `
<main>
  <table id="ports">
    <tr><th>Port</th><th>Depth</th><th>Berths</th></tr>
    <tr><td><a href="hamburg">Hamburg</a></td><td>15.1 m</td><td>290</td></tr>
    <tr><td><a href="/old/genoa">Genoa</a></td><td>14.0 m</td><td>170</td></tr>
    <tr><td>Gdynia</td><td>13.5 m</td><td>80</td></tr>
  </table>
</main>`;

const $ = cheerio.load(HTML);
const ports = $("#ports tr")
  .slice(1)
  .map((_, row) => {
    const [name = "", depth = "", berths = ""] = $(row)
      .find("td")
      .map((_, cell) => $(cell).text().trim());
    return { name, depthMetres: Number.parseFloat(depth), berths: Number(berths) };
  })
  .get();
const links = $("#ports a")
  .map((_, link) => new URL($(link).attr("href") ?? "", PAGE).href)
  .get();

return { ports, links };
