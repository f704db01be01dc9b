//! What the verifier says of tables, for people and programs.

use routing::Verification;

use crate::Answer;
use crate::style::{Style, count, thousands};
use crate::table::Table;

/// Adds the verdict's rows on tables whose paths take so many virtual lanes: one a property, with the witness of what is
/// wrong.
pub fn rows(table: &mut Table, verification: &Verification, lanes: u8, style: Style) {
    let good = |text: String| style.green(&text);
    let bad = |text: String| style.red_bold(&text);
    let pairs = if verification.unreachable == 0 {
        good(format!("all {} reachable", count(verification.pairs, "pair")))
    } else {
        bad(format!(
            "{} of {} unreachable",
            thousands(verification.unreachable),
            count(verification.pairs, "pair")
        ))
    };
    table.row(["paths".to_owned(), pairs]);
    if let Some(pair) = &verification.first_unreachable {
        table.row([String::new(), format!("{} does not reach {} (LID {})", pair.from, pair.to, pair.lid)]);
    }
    if verification.loops > 0 {
        table.row(["loops".to_owned(), bad(count(verification.loops, "forwarding loop"))]);
    }
    if let Some(circle) = &verification.first_loop {
        table.row([String::new(), format!("LID {}: {}", circle.lid, circle.ports.join(" -> "))]);
    }
    let deadlock = if verification.credit_loops == 0 {
        let lanes = if lanes > 1 { format!("{lanes} lanes") } else { "one lane".to_owned() };
        good(format!("no credit loop on {lanes}"))
    } else {
        bad(count(verification.credit_loops, "credit loop"))
    };
    table.row(["deadlock".to_owned(), deadlock]);
    if let Some(circle) = &verification.witness {
        table.row([String::new(), format!("{} -> back", circle.ports.join(" -> "))]);
    }
    if verification.hops.max > 0 {
        table.row([
            "switches on a path".to_owned(),
            format!("{} at most, {:.2} on average", verification.hops.max, verification.hops.mean),
        ]);
    }
}

/// Yes where nothing is wrong.
pub fn answer(verification: &Verification) -> Answer {
    if verification.is_clean() { Answer::Yes } else { Answer::No }
}
