import { bytes, count, duration, inWords, percent, quantity, unbroken } from "../format.ts";
import type { Finding, Marker, Report, Segment } from "../data/types.ts";
import { useAnswer, useStore } from "../state/answer.ts";
import { REPORT_BYTES, type Store } from "../state/store.ts";

/** Shows where a finding is: its time, its ranks, its call path. */
export function showFinding(store: Store, report: Report, index: number): void {
  const finding = report.findings[index];
  if (!finding) return;
  const [a, b] = finding.time_range_ns;
  const whole = 0.98 * store.end <= b - a;
  const margin = 0.02 * (b - a);
  store.go({
    findings_index: index,
    time_ns: whole || b <= a ? null : [Math.max(0, Math.round(a - margin)), Math.min(store.end, Math.round(b + margin))],
    brush_ns: null,
    ranks: finding.ranks.ranges === "" ? null : finding.ranks.ranges,
    call_path: finding.call_path.length === 0 ? null : finding.call_path,
    focus: false,
  }, true);
}

export function stepFinding(store: Store, by: number): void {
  store.wantsReport.value = true;
  void store.ask<Report>({ question: "report", options: {}, selection: {} }).then(({ data }) => {
    const n = data.findings.length;
    const at = store.state.value.findings_index;
    if (n !== 0) showFinding(store, data, at === null ? (0 < by ? 0 : n - 1) : (at + by + n) % n);
  }, (error: unknown) => store.report(error));
}

export function Guide() {
  const store = useStore();
  const wanted = store.wantsReport.value;
  const { data, error, loading } = useAnswer<Report>(wanted ? "report" : null, {}, {});
  const all = store.status.value?.notices ?? [];
  const notices = all.filter((notice, i) => all.findIndex(({ message }) => message === notice.message) === i);
  const segments = (data?.segments ?? []).filter((segment) => 0 < segment.lost_ns);
  return (
    <aside class="guide" data-testid="guide" aria-label="Guide" aria-busy={loading}>
      {data && <Head report={data} />}
      {!wanted && (
        <div class="pad">
          <p>The trace has {count(store.meta.n_events ?? 0)} events. Looking for what costs time needs about {bytes(REPORT_BYTES * (store.meta.n_events ?? 0))} of the server's memory.</p>
          <p><button onClick={() => (store.wantsReport.value = true)}>Look for what costs time</button></p>
        </div>
      )}
      {wanted && loading && !data && <p class="faint pad">Looking for what costs time …</p>}
      {error && <p class="error pad">{error}</p>}
      {data && (
        <ol class="findings" aria-label="Findings, most gain first">
          {(data.findings ?? []).map((finding, i) => <FindingCard key={i} finding={finding} index={i} report={data} />)}
        </ol>
      )}
      {0 < segments.length && <Segments segments={segments} />}
      <Markers />
      {0 < notices.length && (
        <details class="notices" open>
          <summary>Notices</summary>
          <ul>{notices.map((notice, i) => <li key={i} class={notice.level}>{notice.message}</li>)}</ul>
        </details>
      )}
    </aside>
  );
}

function Head({ report }: { report: Report }) {
  const { efficiency } = report;
  // That of a profile is its text.
  const headline = typeof report.headline === "string" ? { text: report.headline, incomplete: null, selected: null } : report.headline;
  const parts: [string, number, string][] = efficiency
    ? [["parallel", efficiency.parallel, "Mean computing time / run time"], ["balance", efficiency.load_balance, "Mean computing time / that of the busiest"], ["comm.", efficiency.communication, "Computing time of the busiest / run time"]]
    : [];
  return (
    <header class="headline">
      <h2>{unbroken(headline?.text ?? "")}</h2>
      {headline?.incomplete && <p class="warn">{headline.incomplete}</p>}
      {headline?.selected && <p>{headline.selected}</p>}
      <dl class="gauges">
        {parts.map(([name, part, what]) => (
          <div key={name} title={what}><dt>{name}</dt><dd>{percent(part)}</dd><meter min={0} max={1} value={part} aria-label={name} /></div>
        ))}
      </dl>
    </header>
  );
}

function FindingCard({ finding, index, report }: { finding: Finding; index: number; report: Report }) {
  const store = useStore();
  const open = store.state.value.findings_index === index;
  return (
    <li data-testid="finding" class={open ? "finding open" : "finding"}>
      <button aria-expanded={open} onClick={() => showFinding(store, report, index)}>
        <span class="gain">{finding.gain_ns === 0 ? "" : percent(finding.gain_fraction)}</span>
        <span class="title">{finding.title}</span>
        {0 < finding.gain_fraction && <span class="bar" style={{ width: `${Math.min(100, 100 * finding.gain_fraction)}%` }} />}
      </button>
      {open && (
        <div class="detail">
          <p>{finding.sentence}</p>
          {finding.source && <p class="source">{finding.source}</p>}
          <h3>Evidence</h3>
          <ul class="evidence">
            {finding.evidence.map((evidence, i) => (
              <li key={i}>
                <div title={evidence.formula}>{evidence.text}</div>
                <dl>{evidence.values.map((v, j) => <div key={j}><dt>{v.name}</dt><dd>{quantity(v.value, v.unit)}</dd></div>)}</dl>
              </li>
            ))}
          </ul>
          <h3>Advice</h3>
          <p>{finding.advice}</p>
          <h3>Gain</h3>
          <p>{duration(finding.gain_ns)} ({percent(finding.gain_fraction)}), {finding.confidence}{finding.assumption ? `: ${finding.assumption}` : ""}.</p>
          {finding.command.length !== 0 && <code class="command">ouzel {finding.command.join(" ")}</code>}
        </div>
      )}
    </li>
  );
}

/** Markers in the list, at most. All are in the timeline. */
const MARKERS_MAX = 200;

/** What tools remarked in the trace. A click shows the time around it. */
function Markers() {
  const store = useStore();
  const markers = store.meta.markers ?? [];
  if (markers.length === 0) return null;
  const show = ({ time_ns: [a, b], row }: Marker) => {
    const margin = Math.max(0.02 * store.end, b - a);
    const rank = row === null ? null : (store.meta.locations[row]?.rank ?? null);
    store.go({ time_ns: [Math.max(0, Math.round(a - margin)), Math.min(store.end, Math.round(b + margin))], ranks: rank === null ? null : `${rank}`, findings_index: null, brush_ns: null }, true);
  };
  return (
    <details class="segments markers" open>
      <summary>Markers</summary>
      <ul>
        {markers.slice(0, MARKERS_MAX).map((marker, i) => (
          <li key={i}>
            <button onClick={() => show(marker)}>
              <span class="gain">{duration(marker.time_ns[0], 3)}</span>
              <span class="title">{inWords(marker)}</span>
            </button>
          </li>
        ))}
      </ul>
      {MARKERS_MAX < markers.length && <p class="faint pad">{`${count(markers.length - MARKERS_MAX)} more are in the timeline.`}</p>}
    </details>
  );
}

function Segments({ segments }: { segments: Segment[] }) {
  const store = useStore();
  return (
    <details class="segments" open>
      <summary>Segments that lose time</summary>
      <ul>
        {segments.map((segment) => (
          <li key={segment.id}>
            <button onClick={() => store.go({ time_ns: [segment.start_ns, segment.end_ns], call_path: null, ranks: null, findings_index: null, brush_ns: null }, true)}>
              <span class="gain">{duration(segment.lost_ns, 3)}</span>
              <span class="title">{segment.sync?.at(-1) ?? "end of the run"}<small>{segment.n_phases} × · {segment.diagnosis}</small></span>
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}
