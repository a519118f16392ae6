"""A dictionary that people can read at a prompt and in a notebook."""

from html import escape


def _cell(value):
    """One value on one line; lists by their length, unless they are short."""
    if value is None:
        return "–"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_cell(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        plain = all(isinstance(inner, (int, str)) for inner in value)
        return ", ".join(map(str, value)) if plain and len(value) <= 8 else f"{len(value)} entries"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


class Info(dict):
    """What is in a trace or a profile; shown as a table with a row for each key, and one for each ability."""

    def _rows(self):
        for key, value in self.items():
            if key == "abilities":
                for ability in value:
                    yield ability["what"], f"{'yes' if ability['available'] else 'no'}: {ability['reason']}"
            elif value not in ("", [], {}):
                yield key, _cell(value)

    def __repr__(self):
        rows = list(self._rows())
        width = max((len(key) for key, _ in rows), default=0)
        return "\n".join(f"{key:<{width}}  {value}" for key, value in rows)

    def _repr_html_(self):
        rows = (f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in self._rows())
        return f"<table><tbody>{''.join(rows)}</tbody></table>"
