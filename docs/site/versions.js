// The menu of versions. The file `versions.js` beside the folders of the versions lists their pages; where the book
// stands alone, there is none and no menu.
(function () {
    "use strict";
    const list = document.createElement("script");
    list.src = path_to_root + "../versions.js";
    list.addEventListener("load", function () {
        const base = new URL(path_to_root + "./", location.href);
        const here = decodeURIComponent(base.pathname.split("/").filter(Boolean).pop());
        const page = location.pathname.slice(base.pathname.length) || "index.html";
        const menu = document.createElement("select");
        menu.className = "versions";
        menu.setAttribute("aria-label", "Version");
        for (const version of window.ouzelVersions) {
            const item = document.createElement("option");
            item.textContent = version.name;
            item.selected = version.name === here;
            menu.append(item);
        }
        menu.addEventListener("change", function () {
            const version = window.ouzelVersions[menu.selectedIndex];
            const target = version.pages.includes(page) ? page : "index.html";
            location.href = new URL("../" + encodeURIComponent(version.name) + "/" + target, base).href;
        });
        document.querySelector(".right-buttons").prepend(menu);
    });
    document.head.append(list);
})();
