//! What every page has around its content: the head, the link past the header, the footer.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use ouzel::Asked;
use ouzel::model::put_visible;

const STYLE: &str = include_str!("page.css");

/// A whole page: `header` says what it is about, `main` is its content, `scripts` follow the footer.
pub fn document(asked: &Asked, header: &Markup, main: &Markup, scripts: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "ouzel " (env!("CARGO_PKG_VERSION")) };
                title { "Ouzel: " (asked.path()) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the report" }
                header { (header) }
                main id="main" { (main) }
                footer { p { "Made by ouzel " (env!("CARGO_PKG_VERSION")) "." } }
                (scripts)
            }
        }
    };
    shown(&page.into_string())
}

/// A part of the page with its heading.
pub fn section(id: &str, title: &str, content: &Markup) -> Markup {
    html! { section id=(id) { h2 { (title) } (content) } }
}

/// Why something is not on the page; what is between backticks is code.
pub fn not_known(reason: Option<&str>) -> Markup {
    let parts = reason.unwrap_or("unknown").split('`').enumerate();
    html! {
        p {
            span.doubt { "Not known: " }
            @for (nth, part) in parts { @if nth % 2 == 1 { code { (part) } } @else { (part) } }
            "."
        }
    }
}

/// The page with names made visible: a browser would change the direction of reading, or hide zero-width characters.
/// Our own line breaks and no-break spaces are kept.
fn shown(page: &str) -> String {
    let mut shown = String::with_capacity(page.len());
    for c in page.chars() {
        match c {
            '\n' | '\u{a0}' | '\u{202f}' => shown.push(c),
            c => put_visible(&mut shown, c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::not_known;

    #[test]
    fn commands_in_a_reason_are_code() {
        let page = not_known(Some("a < b; `ouzel info` says why")).into_string();
        let shown =
            "<p><span class=\"doubt\">Not known: </span>a &lt; b; <code>ouzel info</code> says why.</p>";
        assert_eq!(page, shown);
    }
}
