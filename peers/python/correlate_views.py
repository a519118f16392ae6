"""Filtered correlation in NumPy and SciPy, as a peer of `ouzel correlate`: `correlate_views.py COMMAND SIZES N JOBS FILE`.

FILE holds N views of SIZES places in double precision, as `correlate_speed values` writes them. `first` computes
their spectra and answers; `top` answers from spectra that are in memory, the twenty views of greatest |R|; views
whose bound cannot reach the twentieth are skipped. The filter keeps all axes but the first.
"""

import json
import sys
import time

import numpy
import scipy.fft

TOP = 20
# Values that are transformed together.
BATCH_VALUES = 1 << 21


def weights(sizes: list[int]) -> tuple[numpy.ndarray, numpy.ndarray]:
    n_half = sizes[:-1] + [sizes[-1] // 2 + 1]
    signed = []
    for axis, (size, n) in enumerate(zip(sizes, n_half)):
        k = numpy.arange(n)
        k = numpy.where(2 * k > size, k - size, k).astype(float)
        signed.append((k**2).reshape([-1 if a == axis else 1 for a in range(len(sizes))]))
    norm = sum(signed)
    kept = sum(signed[1:])
    w = numpy.divide(kept, norm, out=numpy.zeros(n_half), where=norm > 0)
    twice = numpy.full(n_half[-1], 2.0)
    twice[0] = 1.0
    if sizes[-1] % 2 == 0:
        twice[-1] = 1.0
    return w, twice


def main() -> None:
    command, sizes, n_views, jobs, file = sys.argv[1:]
    sizes, n_views, jobs = [int(d) for d in sizes.split("x")], int(n_views), int(jobs)
    axes = tuple(range(1, len(sizes) + 1))
    values = numpy.memmap(file, dtype=numpy.float64, mode="r", shape=(n_views, *sizes))
    n_places = int(numpy.prod(sizes))
    batch = max(1, min(64, BATCH_VALUES // n_places))
    batches = [slice(at, min(at + batch, n_views)) for at in range(0, n_views, batch)]
    n_half = sizes[:-1] + [sizes[-1] // 2 + 1]
    spectra = numpy.empty((n_views, *n_half), dtype=numpy.complex128)

    def transform() -> None:
        for part in batches:
            spectra[part] = scipy.fft.rfftn(values[part], axes=axes, norm="forward", workers=jobs)

    if command == "top":
        transform()
    start = time.perf_counter()
    if command == "first":
        transform()
    w, twice = weights(sizes)
    doubled = w * twice
    filtered = w * spectra[0].conj()
    inner = tuple(range(1, len(sizes) + 1))
    energies = numpy.concatenate(
        [(doubled * (spectra[p].real ** 2 + spectra[p].imag ** 2)).sum(axis=inner) for p in batches]
    )
    norms = numpy.sqrt(energies[0] * energies)
    magnitude = numpy.abs(filtered) * twice
    bounds = numpy.concatenate([(magnitude * numpy.abs(spectra[p])).sum(axis=inner) for p in batches]) / norms
    order = [int(j) for j in numpy.argsort(-bounds) if j != 0]
    best: list[tuple[float, int]] = []
    n_transformed = 0
    for at in range(0, len(order), batch):
        chosen = order[at : at + batch]
        if len(best) >= TOP and bounds[chosen[0]] < abs(best[TOP - 1][0]):
            break
        g = scipy.fft.irfftn(
            filtered * spectra[chosen], s=sizes, axes=axes, norm="forward", workers=jobs, overwrite_x=True
        ).reshape(len(chosen), -1)
        n_transformed += len(chosen)
        for row, j in zip(g, chosen):
            high, low = row.max() / norms[j], row.min() / norms[j]
            best.append((high if high >= -low else low, j))
        best = sorted(best, key=lambda found: -abs(found[0]))[:TOP]
    seconds = time.perf_counter() - start
    rows = [[j, r] for r, j in best]
    print(json.dumps({"events": n_views - 1, "events_seconds": seconds, "n_transformed": n_transformed, "rows": rows}))


if __name__ == "__main__":
    main()
