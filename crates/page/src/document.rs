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
