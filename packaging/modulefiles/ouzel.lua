-- Put this file at MODULEPATH/ouzel/VERSION.lua and the unpacked archive at `base`.
help([[Ouzel finds where parallel programs lose time: ouzel report TRACE. More: ouzel --help]])
whatis("Name: Ouzel")
whatis("Version: " .. myModuleVersion())
whatis("Description: finds where parallel programs lose time")

local base = pathJoin("/opt/ouzel", myModuleVersion())
prepend_path("PATH", pathJoin(base, "bin"))
prepend_path("MANPATH", pathJoin(base, "share/man"))
prepend_path("XDG_DATA_DIRS", pathJoin(base, "share"))
