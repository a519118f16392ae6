//! The lines that are inserted into Fortran. Law: none is longer than the 132 columns of the standard.

use crate::insertions::quoted;
use crate::{Choices, InstrumentedRegion, RegionKind};
use std::fmt::Write;
use std::ops::Range;

/// Says which line of which file follows.
pub fn marker(choices: &Choices<'_>, line: usize) -> String {
    format!("# {line} {}\n", quoted(&choices.path.to_string_lossy()))
}

/// The module that is inserted, whose file the compiler leaves behind.
pub fn module_name(choices: &Choices<'_>) -> String {
    format!("ouzel_of_{:x}", choices.tag)
}

/// A call with the end of its line; `which` is `in` or `out`.
pub fn call(choices: &Choices<'_>, which: &str, number: usize) -> String {
    format!("call ouzel_{which}_{:x}(ouzel_{number}_{:x}%cell)\n", choices.tag, choices.tag)
}

/// What a procedure uses of the module, in lines of their own.
pub fn uses(choices: &Choices<'_>, regions: Range<usize>) -> String {
    let tag = choices.tag;
    let mut text = format!("use {}, only: ouzel_in_{tag:x}, ouzel_out_{tag:x}\n", module_name(choices));
    for number in regions {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "use {}, only: ouzel_{number}_{tag:x}", module_name(choices));
    }
    text
}

/// The module with the regions and the hook, which is found when the first region is entered. The hook has a name of its
/// own in each file: gfortran gives pointers to procedures the same global name in all modules.
pub fn module(regions: &[InstrumentedRegion], choices: &Choices<'_>) -> String {
    let file = choices.recorded_path.to_string_lossy();
    let n_longest = regions.iter().map(|region| region.name.len()).max().unwrap_or(0);
    let n_text = n_longest + file.len() + 2;
    let tag = format!("{:x}", choices.tag);
    let mut text = format!(
        "\
module {module}
use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_ptr, c_funptr, c_char, c_null_ptr, c_null_char
use, intrinsic :: iso_c_binding, only: c_associated, c_f_procpointer
implicit none
private
public :: ouzel_in_{tag}, ouzel_out_{tag}
type, public :: ouzel_region_{tag}
sequence
integer(c_int64_t) :: cell
integer(c_int) :: line, what
character(len={n_text}, kind=c_char) :: text
end type
",
        module = module_name(choices)
    );
    for (number, region) in regions.iter().enumerate() {
        // The text follows the numbers, instead of pointers to texts.
        let what = 256 + i32::from(region.kind == RegionKind::Loop);
        let _ = writeln!(
            text,
            "type(ouzel_region_{tag}), public, save :: ouzel_{number}_{tag} = ouzel_region_{tag}( &\n\
             0_c_int64_t, {}_c_int, {what}_c_int, &\n{}//c_null_char// &\n{}//c_null_char)",
            region.line,
            literal(&region.name),
            literal(&file)
        );
    }
    let _ = write!(
        text,
        "\
abstract interface
subroutine ouzel_visit(cell, what, frame) bind(c)
import :: c_int, c_int64_t, c_ptr
integer(c_int64_t), intent(inout) :: cell
integer(c_int), value :: what
type(c_ptr), value :: frame
end subroutine
end interface
interface
function ouzel_find(handle, name) bind(c, name=\"dlsym\") result(found)
import :: c_ptr, c_funptr, c_char
type(c_ptr), value :: handle
character(kind=c_char), intent(in) :: name(*)
type(c_funptr) :: found
end function
end interface
procedure(ouzel_visit), pointer, save :: ouzel_hook_{tag} => null()
logical, save :: is_known = .false.
contains
subroutine begin()
type(c_funptr) :: found
found = ouzel_find(c_null_ptr, \"ouzel_instrument_visit\"//c_null_char)
if (c_associated(found)) call c_f_procpointer(found, ouzel_hook_{tag})
is_known = .true.
end subroutine
subroutine ouzel_in_{tag}(cell)
integer(c_int64_t), intent(inout) :: cell
if (.not. is_known) call begin()
if (associated(ouzel_hook_{tag})) call ouzel_hook_{tag}(cell, 0_c_int, c_null_ptr)
end subroutine
subroutine ouzel_out_{tag}(cell)
integer(c_int64_t), intent(inout) :: cell
if (associated(ouzel_hook_{tag})) call ouzel_hook_{tag}(cell, 1_c_int, c_null_ptr)
end subroutine
end module
{}",
        marker(choices, 1)
    );
    text
}

/// A character constant, in pieces that fit into lines.
fn literal(text: &str) -> String {
    let chars: Vec<char> = text.chars().filter(|c| !c.is_control()).collect();
    let piece = |piece: &[char]| format!("\"{}\"", piece.iter().collect::<String>().replace('"', "\"\""));
    let pieces: Vec<String> = chars.chunks(50).map(piece).collect();
    if pieces.is_empty() { "\"\"".to_owned() } else { pieces.join("// &\n") }
}

/// Whether a comment is for compilers: OpenMP, OpenACC and those of vendors.
pub fn is_directive(comment: &str) -> bool {
    let comment = comment.to_lowercase();
    ["!$", "!dir$", "!dec$", "!gcc$", "!ibm", "!pgi$", "!nec$", "!ocl", "!pragma"]
        .iter()
        .any(|begin| comment.starts_with(begin))
}

/// Whether a directive stands among declarations.
pub fn is_specification_directive(comment: &str) -> bool {
    if !is_directive(comment) {
        return false;
    }
    let comment = comment.to_lowercase();
    let mut words = comment.split(|c: char| !c.is_alphanumeric() && !matches!(c, '!' | '$' | '_'));
    let first = words.next().unwrap_or_default();
    let second = words.find(|word| !word.is_empty()).unwrap_or_default();
    match first {
        // Code for OpenMP alone.
        "!$" => matches!(
            second,
            "use"
                | "integer"
                | "real"
                | "logical"
                | "character"
                | "complex"
                | "double"
                | "type"
                | "include"
                | "external"
                | "save"
                | "parameter"
                | "interface"
        ),
        "!$omp" => matches!(second, "threadprivate" | "declare" | "requires"),
        "!$acc" => matches!(second, "routine" | "declare"),
        "!gcc$" | "!dir$" | "!dec$" => matches!(second, "attributes"),
        _ => false,
    }
}
