//! Adaptive-routing groups as text: a line of JSON for the whole, then one for each switch. `docs/json.md` has the keys.

use fabric::Fabric;
use routing::AdaptiveGroups;
use serde_json::json;

/// The version of the form.
const VERSION: u32 = 1;

/// Writes the groups that go with an engine's tables.
pub fn write(fabric: &Fabric, engine: &str, groups: &AdaptiveGroups) -> String {
    let guids: Vec<_> = groups.switches().iter().map(|&switch| fabric.guid(switch)).collect();
    let mut text =
        json!({ "heddle-adaptive-groups": VERSION, "engine": engine, "switches": guids }).to_string();
    text.push('\n');
    for (switch, &node) in groups.switches().iter().enumerate() {
        let group_of: Vec<_> = (0..guids.len()).map(|target| groups.group_of(switch, target)).collect();
        let line = json!({
            "switch": switch,
            "name": fabric.name(node),
            "groups": groups.groups(switch),
            "group_of": group_of,
        });
        text.push_str(&line.to_string());
        text.push('\n');
    }
    text
}
