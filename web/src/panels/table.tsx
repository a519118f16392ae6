import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { quantity } from "../format.ts";
import type { Cell, Column, Row, Table } from "../data/types.ts";

const SHOWN = 400;
const KNOWN: Record<string, string> = {
  inclusive_ns: "inclusive", exclusive_ns: "exclusive", min_ns: "shortest", max_ns: "longest", call_path: "call path",
};

export function text(value: Cell, column: Column): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.join(" › ");
  if (typeof value === "number") return column.name === "line" || column.name === "rank" ? String(value) : quantity(value, column.unit);
  return String(value);
}

/** A table that can be sorted and searched; the first column names the row. */
export function DataTable({ table, hidden, search, onRow, isLit, extra, extraTitle, caption }: {
  table: Table; hidden: string[]; search: string; caption: string;
  onRow?: (row: Row) => void; isLit?: (row: Row) => boolean; extra?: (row: Row) => ComponentChildren; extraTitle?: string;
}) {
  const [sort, setSort] = useState<{ name: string; down: boolean } | null>(null);
  const columns = table.columns.filter((column) => !hidden.includes(column.name) && table.rows.some((row) => row[column.name] !== null && row[column.name] !== undefined && row[column.name] !== 0));
  const needle = search.toLowerCase();
  let rows = needle === "" ? table.rows : table.rows.filter((row) => `${row["region"] ?? ""} ${row["call_path"] ?? ""}`.toLowerCase().includes(needle));
  if (sort) rows = [...rows].sort((a, b) => (sort.down ? -1 : 1) * compare(a[sort.name], b[sort.name]));
  const numeric = (column: Column) => table.rows.some((row) => typeof row[column.name] === "number");
  const most = new Map(columns.filter((c) => c.name === "exclusive_ns" || c.name === "inclusive_ns").map((c) => [c.name, Math.max(1, ...table.rows.map((row) => Number(row[c.name]) || 0))]));
  return (
    <div class="scroll">
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" title={column.doc} class={numeric(column) ? "number" : ""} aria-sort={sort?.name === column.name ? (sort.down ? "descending" : "ascending") : "none"}>
                <button class="plain" onClick={() => setSort({ name: column.name, down: sort?.name === column.name ? !sort.down : numeric(column) })}>
                  {KNOWN[column.name] ?? column.name.replaceAll("_", " ").replace(/ ns$/, "")}{sort?.name === column.name ? (sort.down ? " ↓" : " ↑") : ""}
                </button>
              </th>
            ))}
            {extra && <th scope="col" title={extraTitle}>by rank</th>}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, SHOWN).map((row, i) => (
            <tr key={i} class={isLit?.(row) ? "lit" : ""} tabIndex={onRow ? 0 : -1} onClick={() => onRow?.(row)} onKeyDown={(event) => event.key === "Enter" && (event.stopPropagation(), onRow?.(row))}>
              {columns.map((column) => {
                const width = most.has(column.name) ? (100 * Number(row[column.name] ?? 0)) / (most.get(column.name) ?? 1) : null;
                return (
                  <td key={column.name} class={numeric(column) ? "number" : "name"} title={text(row[column.name], column)}>
                    {width !== null && <i class="fill" style={{ width: `${width}%` }} />}
                    <span>{text(row[column.name], column)}</span>
                  </td>
                );
              })}
              {extra && <td class="spark">{extra(row)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
      {SHOWN < rows.length && <p class="faint pad">{rows.length - SHOWN} more rows: search, or export them all.</p>}
    </div>
  );
}

function compare(a: Cell, b: Cell): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
}

/** As `--format csv` writes it: lists joined by `;`, quoted where needed, formulas of spreadsheets made text. */
export function toCsv(table: Table): string {
  const lines = [table.columns.map((column) => column.name).join(",")];
  for (const row of table.rows) lines.push(table.columns.map((column) => csvCell(row[column.name])).join(","));
  return `${lines.join("\n")}\n`;
}

function csvCell(value: Cell): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const joined = Array.isArray(value) ? value.join(";") : value;
  const safe = /^[=+\-@\t\r]/.test(joined) ? `'${joined}` : joined;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
