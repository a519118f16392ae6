/** Ranks as the command line takes them: `0-63,128`. */

export function parseRanks(text: string): Set<number> | null {
  const ranks = new Set<number>();
  for (const part of text.split(",").map((p) => p.trim()).filter((p) => p !== "")) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (!match) return null;
    const first = Number(match[1]);
    const last = match[2] === undefined ? first : Number(match[2]);
    if (last < first || 10_000_000 < last) return null;
    for (let rank = first; rank <= last; rank += 1) ranks.add(rank);
  }
  return ranks.size === 0 ? null : ranks;
}

export function formatRanks(ranks: Iterable<number>): string {
  const sorted = [...new Set(ranks)].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length; ) {
    let j = i;
    while (j + 1 < sorted.length && sorted[j + 1] === (sorted[j] ?? 0) + 1) j += 1;
    parts.push(i === j ? `${sorted[i]}` : `${sorted[i]}-${sorted[j]}`);
    i = j + 1;
  }
  return parts.join(",");
}
