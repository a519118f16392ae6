#!/bin/sh
# Builds the C peer twice: over the OTF2 library compiled here from its published sources,
# and over the one that Debian ships.
#
# usage: build.sh SOURCES OUT
#   SOURCES  the unpacked Python package `otf2`, which carries the C library whole
#   OUT      folder for the objects and the two programs
#
# The definitions and folders are those of the package's own build, with -O2.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
sources=$(cd "$1" && pwd)
mkdir -p "$2/objects" "$2/include/otf2"
out=$(cd "$2" && pwd)

cd "$sources"
common/utils/src/exception/finalize_error_codes.sh OTF2 share/otf2/otf2.errors \
    "$out/include/otf2/OTF2_ErrorCodes.h" "$out/include/otf2_error_decls.gen.h" \
    common/utils/src/exception/ErrorCodes.tmpl.h

# Files named *_inc.c are included by others; SION needs a library of its own.
ls src/*.c common/hash/jenkins_hash.c common/utils/src/cstr/UTILS_CStr.c \
    common/utils/src/exception/UTILS_Error.c common/utils/src/io/UTILS_IO_Tools.c \
    common/utils/src/io/UTILS_IO_GetExe.c | grep -v -e _inc.c -e sion |
    OUT=$out xargs -P "$(nproc)" -I FILE sh -c 'cc -O2 -w -DNOCROSS_BUILD -DNDEBUG \
        -Ibuild-config/common -Iinclude -Isrc -Icommon/utils/include -Icommon/hash \
        -Isrc/python/extra -I"$OUT/include" -c FILE -o "$OUT/objects/$(basename FILE .c).o"'

cc -O2 -Wall -Wextra -Iinclude -I"$out/include" "$here/read_enter_leave.c" "$out"/objects/*.o -lm \
    -o "$out/read_enter_leave"

# The shared library as a user of the distribution gets it.
if command -v otf2-config >/dev/null; then
    # shellcheck disable=SC2046 # the words of otf2-config are separate arguments
    cc -O2 -Wall -Wextra $(otf2-config --cflags) "$here/read_enter_leave.c" \
        $(otf2-config --ldflags) $(otf2-config --libs) -o "$out/read_enter_leave_debian" ||
        echo "build.sh: the library that otf2-config names cannot be linked" >&2
fi
