//! What a compiler is asked to do: which words of a command are sources, and where it writes dependencies.
//!
//! ```text
//! words ──@files expanded──► words, inputs among them ──copies──► words that compile the copies
//! ```
//! Law: words that are not understood stay as they are. An input is only what certainly is one: what follows an option
//! with a value of its own is none. Not here: reading and writing files, running the compiler.

use crate::language::{Language, SourceKind, kind_of};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// Files of words may name others so deep.
const FILES_DEEP: u32 = 16;

/// Options of GCC, Clang and gfortran whose value is the next word.
const WITH_VALUE: [&str; 52] = [
    "-o",
    "-I",
    "-L",
    "-D",
    "-U",
    "-J",
    "-l",
    "-e",
    "-u",
    "-z",
    "-T",
    "-G",
    "-A",
    "-b",
    "-V",
    "-B",
    "-F",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-imultilib",
    "-imultiarch",
    "-iplugindir",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "-target",
    "-arch",
    "--param",
    "-wrapper",
    "-framework",
    "--sysroot",
    "-soname",
    "-rpath",
    "-mllvm",
    "-module",
    "-fintrinsic-modules-path",
];
/// Options with which nothing is compiled, or only preprocessed.
const COMPILES_NOTHING: [&str; 8] =
    ["-E", "-M", "-MM", "-fsyntax-only", "-###", "--version", "--help", "-dumpversion"];

/// What an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// A source.
    Source(Language),
    /// Fortran in fixed form.
    FixedForm,
    /// Preprocessed: the headers are in it.
    Preprocessed,
    /// An object, a library, a source of another language.
    Other,
}

/// A word that names a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerInput {
    /// Its place among the words.
    pub at: usize,
    /// What it is.
    pub kind: InputKind,
}

/// A compiler's command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerCommand {
    /// All words but the compiler's name, those of files that were named with `@` in their place.
    pub words: Vec<OsString>,
    /// The files among them, in this order.
    pub inputs: Vec<CompilerInput>,
    /// Whether it compiles: not only preprocesses or answers.
    pub compiles: bool,
    /// Whether the program's functions are instrumented by the compiler anyway.
    pub is_instrumented: bool,
    /// The word of the output.
    output: Option<PathBuf>,
    dependencies: Option<PathBuf>,
    /// Where modules of Fortran are written.
    pub modules: Option<PathBuf>,
}

/// A copy of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceCopy {
    /// The word that it stands for.
    pub at: usize,
    /// Where it is, alone in its folder, under the source's own name.
    pub path: PathBuf,
    /// The folder of the source, as the command names it; `.` for none.
    pub of: PathBuf,
    /// The language.
    pub language: Language,
}

impl CompilerCommand {
    /// Understands the words of a command. `read` gives the text of a file that is named with `@`; if it cannot, the word
    /// stays, as for compilers.
    pub fn new(words: &[OsString], read: &dyn Fn(&Path) -> io::Result<String>) -> CompilerCommand {
        let Some((compiler, words)) = words.split_first() else { return Self::of(false, Vec::new()) };
        let mut expanded = Vec::new();
        words.iter().for_each(|word| expand(word, read, FILES_DEEP, &mut expanded));
        Self::of(is_of_cpp(compiler), expanded)
    }

    fn of(is_cpp: bool, words: Vec<OsString>) -> CompilerCommand {
        let mut command = CompilerCommand {
            words: Vec::new(),
            inputs: Vec::new(),
            compiles: true,
            is_instrumented: false,
            output: None,
            dependencies: None,
            modules: None,
        };
        let has = |option: &str| words.iter().any(|word| word == option);
        let fixed = (has("-ffixed-form"), has("-ffree-form"));
        let (mut language, mut before): (Option<String>, Option<String>) = (None, None);
        for (at, word) in words.iter().enumerate() {
            let text = word.to_str();
            if let Some(option) = before.take() {
                command.value(&option, word);
                if option == "-x" {
                    language = text.filter(|text| *text != "none").map(str::to_owned);
                }
                continue;
            }
            match text {
                Some("-") => {}
                Some(option) if option.starts_with('-') => {
                    if option == "-x" || WITH_VALUE.contains(&option) {
                        before = Some(option.to_owned());
                    } else if let Some(name) = option.strip_prefix("-x") {
                        language = Some(name).filter(|name| *name != "none").map(str::to_owned);
                    } else {
                        command.option(option);
                    }
                }
                _ => {
                    let kind = input_kind(Path::new(word), language.as_deref(), is_cpp, fixed);
                    command.inputs.push(CompilerInput { at, kind });
                }
            }
        }
        command.words = words;
        command
    }

    /// An option without a value of its own, or with one in the same word.
    fn option(&mut self, option: &str) {
        self.compiles &= !COMPILES_NOTHING.contains(&option);
        self.is_instrumented |= option == "-finstrument-functions";
        for name in ["-o", "-MF", "-J"] {
            if let Some(value) = option.strip_prefix(name) {
                self.value(name, OsStr::new(value));
            }
        }
        if let Some(list) = option.strip_prefix("-Wp,") {
            let parts: Vec<&str> = list.split(',').collect();
            let of =
                |pair: &[&str]| matches!(pair[0], "-MD" | "-MMD" | "-MF").then(|| PathBuf::from(pair[1]));
            self.dependencies = parts.windows(2).find_map(of).or(self.dependencies.take());
        }
    }

    fn value(&mut self, option: &str, value: &OsStr) {
        match option {
            "-o" => self.output = Some(value.into()),
            "-MF" => self.dependencies = Some(value.into()),
            "-J" | "-module" => self.modules = Some(value.into()),
            _ => {}
        }
    }

    /// The path of an input.
    pub fn path(&self, input: &CompilerInput) -> &Path {
        Path::new(&self.words[input.at])
    }

    /// The files that dependencies of a source may be written to; those that are not there were not asked for.
    pub fn dependency_files(&self, copy: &SourceCopy) -> Vec<PathBuf> {
        if let Some(path) = &self.dependencies {
            return vec![path.clone()];
        }
        let stem = copy.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut files = vec![PathBuf::from(format!("{stem}.d"))];
        // A program that is linked at once has the name of its output before that of the source.
        let output = self.output.as_deref().unwrap_or(Path::new("a.out"));
        files.push(output.with_extension("d"));
        let name = output.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        files.push(output.with_file_name(format!("{name}-{stem}.d")));
        files.dedup();
        files
    }

    /// The words that compile the copies: where compilers look for what is beside a source, they find it, and debug
    /// information names the source.
    pub fn with_copies(&self, copies: &[SourceCopy]) -> Vec<OsString> {
        let mut words = Vec::new();
        for copy in copies {
            let is_known = copies.iter().take_while(|it| it.at != copy.at).any(|it| it.of == copy.of);
            if !is_known {
                let option = if copy.language == Language::Fortran { "-I" } else { "-iquote" };
                words.extend([OsString::from(option), copy.of.clone().into()]);
            }
            if let Some(folder) = copy.path.parent() {
                let mut map = OsString::from("-ffile-prefix-map=");
                map.push(folder);
                map.push("=");
                map.push(&copy.of);
                words.push(map);
            }
        }
        words.extend(self.words.iter().enumerate().map(|(at, word)| {
            copies
                .iter()
                .find(|copy| copy.at == at)
                .map_or_else(|| word.clone(), |copy| copy.path.clone().into())
        }));
        words
    }
}

/// Whether a compiler takes sources in C for C++.
fn is_of_cpp(compiler: &OsStr) -> bool {
    let name = Path::new(compiler).file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.contains("++") || name.contains("cxx") || name == "mpicc.cpp"
}

fn input_kind(path: &Path, language: Option<&str>, is_cpp: bool, (fixed, free): (bool, bool)) -> InputKind {
    let fortran = |is_fixed: bool| match is_fixed && !free || fixed {
        true => InputKind::FixedForm,
        false => InputKind::Source(Language::Fortran),
    };
    match language {
        Some("c") => return InputKind::Source(Language::C),
        Some("c++") => return InputKind::Source(Language::Cpp),
        Some("f95" | "f95-cpp-input") => return fortran(false),
        Some("f77" | "f77-cpp-input") => return fortran(true),
        Some("cpp-output" | "c++-cpp-output") => return InputKind::Preprocessed,
        Some(_) => return InputKind::Other,
        None => {}
    }
    match kind_of(path) {
        SourceKind::Known(Language::C) if is_cpp => InputKind::Source(Language::Cpp),
        SourceKind::Known(Language::Fortran) => fortran(false),
        SourceKind::Known(language) => InputKind::Source(language),
        SourceKind::FixedForm => fortran(true),
        SourceKind::Other => match path.extension().and_then(OsStr::to_str) {
            Some("i" | "ii") => InputKind::Preprocessed,
            _ => InputKind::Other,
        },
    }
}

/// Puts a word, or those of the file that it names with `@`, behind others.
fn expand(word: &OsStr, read: &dyn Fn(&Path) -> io::Result<String>, deep: u32, into: &mut Vec<OsString>) {
    let file = word.to_str().and_then(|word| word.strip_prefix('@')).filter(|_| 0 < deep);
    match file.map(|file| read(Path::new(file))) {
        Some(Ok(text)) => words_of(&text).iter().for_each(|word| expand(word, read, deep - 1, into)),
        _ => into.push(word.to_owned()),
    }
}

/// The words of a text as compilers divide it: at white space outside of quotes; a backslash takes the next character
/// as it is.
fn words_of(text: &str) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => word.get_or_insert_default().extend(characters.next()),
            '"' | '\'' if quote.is_none() => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            c if quote == Some(c) => quote = None,
            c if c.is_whitespace() && quote.is_none() => words.extend(word.take().map(OsString::from)),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word.map(OsString::from));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> CompilerCommand {
        let read = |path: &Path| match path.to_str() {
            Some("args") => Ok("-DX='a b' \"b c.c\" @more\n".to_owned()),
            Some("more") => Ok("-I inc\\ dir d.c".to_owned()),
            _ => Err(io::ErrorKind::NotFound.into()),
        };
        let words: Vec<OsString> = text.split(' ').map(OsString::from).collect();
        CompilerCommand::new(&words, &read)
    }

    fn inputs(text: &str) -> Vec<(String, InputKind)> {
        let command = command(text);
        let named = |input: &CompilerInput| (command.path(input).display().to_string(), input.kind);
        command.inputs.iter().map(named).collect()
    }

    #[test]
    fn inputs_are_what_is_no_value_of_an_option() {
        use InputKind::{FixedForm, Other, Preprocessed, Source};
        let (c, cpp, fortran) = (Source(Language::C), Source(Language::Cpp), Source(Language::Fortran));
        for (text, expected) in [
            ("gcc -O2 -c a.c -o b.c", vec![("a.c", c)]),
            ("gcc -include x.c -I inc.c -MF d.c a.c b.o -lm", vec![("a.c", c), ("b.o", Other)]),
            ("/usr/bin/g++-12 a.c b.cc", vec![("a.c", cpp), ("b.cc", cpp)]),
            ("mpicc -x c++ a.c -x none b.c -xc c.txt", vec![("a.c", cpp), ("b.c", c), ("c.txt", c)]),
            ("gcc a.i b.s -", vec![("a.i", Preprocessed), ("b.s", Other)]),
            ("gfortran -J mod a.f90 b.f", vec![("a.f90", fortran), ("b.f", FixedForm)]),
            ("gfortran -ffree-form b.f", vec![("b.f", fortran)]),
            ("gfortran -ffixed-form a.f90", vec![("a.f90", FixedForm)]),
            ("gcc @args e.c @none", vec![("b c.c", c), ("d.c", c), ("e.c", c), ("@none", Other)]),
        ] {
            let expected: Vec<(String, InputKind)> =
                expected.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect();
            assert_eq!(inputs(text), expected, "{text}");
        }
    }

    #[test]
    fn what_compiles_nothing_is_known() {
        for text in ["gcc -E a.c", "gcc -M a.c", "gcc --version", "gcc -fsyntax-only a.c"] {
            assert!(!command(text).compiles, "{text}");
        }
        assert!(command("gcc -S -MD a.c").compiles);
        assert!(command("gcc -finstrument-functions a.c").is_instrumented);
    }

    #[test]
    fn copies_are_compiled_as_if_they_were_the_sources() {
        let command = command("gcc -c sub/a.c -o a.o sub/b.c");
        let copy = |at: usize, path: &str| SourceCopy {
            at,
            path: PathBuf::from(path),
            of: PathBuf::from("sub"),
            language: Language::C,
        };
        let words = command.with_copies(&[copy(1, "/t/0/a.c"), copy(4, "/t/1/b.c")]);
        let expected = [
            "-iquote",
            "sub",
            "-ffile-prefix-map=/t/0=sub",
            "-ffile-prefix-map=/t/1=sub",
            "-c",
            "/t/0/a.c",
            "-o",
            "a.o",
            "/t/1/b.c",
        ];
        assert_eq!(words, expected.map(OsString::from));
    }

    #[test]
    fn dependencies_are_where_compilers_write_them() {
        let copy = SourceCopy { at: 0, path: "/t/0/a.c".into(), of: ".".into(), language: Language::C };
        let files = |text: &str| -> Vec<String> {
            let files = command(text).dependency_files(&copy);
            files.iter().map(|file| file.display().to_string()).collect()
        };
        assert_eq!(files("gcc -c a.c -MD -MF x/y.d"), ["x/y.d"]);
        assert_eq!(files("gcc -c a.c -Wp,-MMD,.deps/a.d -o o/a.o"), [".deps/a.d"]);
        assert_eq!(files("gcc -c a.c -MD -oo/b.o"), ["a.d", "o/b.d", "o/b-a.d"]);
        assert_eq!(files("gcc a.c -MD"), ["a.d", "a.d", "a-a.d"][1..]);
    }
}
