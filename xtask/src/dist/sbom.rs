//! The bill of materials: every crate in the products, in the format CycloneDX 1.5.

use crate::audit::packages::Packages;
use anyhow::Result;
use serde_json::{Value, json};
use std::path::Path;

/// Its file in what is handed on.
pub const NAME: &str = "sbom.cdx.json";

/// As JSON, with crates by name and version.
pub fn text(root: &Path) -> Result<String> {
    let (packages, _) = Packages::at_hand(root)?;
    let mut crates: Vec<_> = packages
        .foreign()
        .filter(|package| packages.is_shipped(package))
        .map(|package| (package.name.clone(), package.version.clone(), package.license.clone()))
        .collect();
    crates.sort();
    let all = bill(&super::version(root)?, &crates);
    Ok(format!("{}\n", serde_json::to_string_pretty(&all)?))
}

fn bill(version: &str, crates: &[(String, String, String)]) -> Value {
    let components: Vec<Value> = crates.iter().map(component).collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "ouzel", "version": version}},
        "components": components,
    })
}

/// The old `A/B` of some manifests is `A OR B`.
fn component((name, version, license): &(String, String, String)) -> Value {
    let licenses = match license.as_str() {
        "" => json!([]),
        license => json!([{"expression": license.replace('/', " OR ")}]),
    };
    let purl = format!("pkg:cargo/{name}@{version}");
    json!({"type": "library", "bom-ref": purl, "name": name, "version": version, "licenses": licenses, "purl": purl})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_crate_has_version_license_and_purl() {
        let crates = [("itoa", "1.0.1", "MIT/Apache-2.0"), ("odd", "2.0.0", "")]
            .map(|(name, version, license)| (name.to_owned(), version.to_owned(), license.to_owned()));
        let bill = bill("0.1.0", &crates);
        assert_eq!(bill["components"][0]["purl"], "pkg:cargo/itoa@1.0.1");
        assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["components"][1]["licenses"], json!([]));
    }
}
