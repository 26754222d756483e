// Writes people.parquet with Arrow's writer in Rust (npm: apache-arrow, parquet-wasm), in
// row groups of 7 rows, and people.csv with the same cells, as pandas writes them.

import { writeFileSync } from "node:fs";
import * as arrow from "apache-arrow";
import * as parquet from "parquet-wasm/node";

const rows = [...Array(40).keys()];
const gap = (i, v) => (i % 9 === 4 ? null : v);
const two = (n) => String(n).padStart(2, "0");
const towns = ["Oslo", "Rome", "Zürich"];
const day = (i) => new Date(Date.UTC(2024, i % 12, 1 + (i % 28)));
const cells = {
  town: rows.map((i) => towns[i % 3]),
  age: rows.map((i) => gap(i, 20 + ((7 * i) % 50))),
  height: rows.map((i) => 1.5 + i / 128),
  visits: rows.map((i) => BigInt((11 * i) % 17)),
  member: rows.map((i) => i % 4 < 2),
  joined: rows.map(day),
  seen: rows.map((i) => new Date(day(i).getTime() + 3600e3 * (i % 24) + 15e3)),
  price: rows.map((i) => gap(i + 2, -500 + 125 * i)), // cents
  score: rows.map((i) => i / 4 + 3 * (i % 3) + ((7 * i) % 5) / 8),
};
const decimal = new arrow.Decimal(2, 9, 128);
const words = (v) => {
  const big = BigInt(v);
  return Uint32Array.from([0n, 32n, 64n, 96n].map((s) => Number((big >> s) & 0xffffffffn)));
};
const vector = (values, type) => arrow.vectorFromArray(values, type);
const table = new arrow.Table({
  town: vector(cells.town, new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32())),
  age: vector(cells.age, new arrow.Int32()),
  height: vector(cells.height, new arrow.Float64()),
  visits: vector(cells.visits, new arrow.Int64()),
  member: vector(cells.member, new arrow.Bool()),
  joined: vector(cells.joined, new arrow.DateDay()),
  seen: vector(cells.seen.map((d) => d.getTime()), new arrow.TimestampMillisecond()),
  price: vector(cells.price.map((v) => (v === null ? null : words(v))), decimal),
  score: vector(cells.score, new arrow.Float32()),
});
const props = new parquet.WriterPropertiesBuilder()
  .setMaxRowGroupSize(7)
  .setCompression(parquet.Compression.ZSTD)
  .build();
const wasm = parquet.Table.fromIPCStream(arrow.tableToIPC(table, "stream"));
writeFileSync("people.parquet", parquet.writeParquet(wasm, props));

const date = (d) => `${d.getUTCFullYear()}-${two(d.getUTCMonth() + 1)}-${two(d.getUTCDate())}`;
const time = (d) => `${date(d)} ${two(d.getUTCHours())}:${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())}`;
const text = {
  member: (v) => (v ? "True" : "False"), joined: date, seen: time, price: (v) => (v / 100).toFixed(2),
};
const names = Object.keys(cells);
const cell = (name, v) => (v === null ? "" : (text[name] ?? String)(v));
const lines = rows.map((i) => names.map((name) => cell(name, cells[name][i])).join(","));
writeFileSync("people.csv", [names.join(","), ...lines, ""].join("\n"));
