//! Host lists as Slurm writes them: `gpu[01-04,07],login` is six names.

/// The most names of one list: more than the largest cluster has nodes.
pub const MAX_HOSTS: usize = 1 << 18;

/// The names of a list; an error in words where it is none.
pub fn expand(list: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    let (mut depth, mut from) = (0usize, 0);
    for (at, letter) in list.char_indices().chain([(list.len(), ',')]) {
        match letter {
            '[' => depth += 1,
            ']' => {
                depth = depth
                    .checked_sub(1)
                    .ok_or_else(|| format!("\"{list}\" closes a bracket that it did not open"))?
            }
            ',' if depth == 0 => {
                one(list[from..at].trim(), &mut names)?;
                from = at + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(format!("\"{list}\" does not close a bracket"));
    }
    Ok(names)
}

/// One entry, which may hold several brackets: the last one runs fastest.
fn one(entry: &str, names: &mut Vec<String>) -> Result<(), String> {
    let mut found = vec![String::new()];
    let mut rest = entry;
    while let Some((before, after)) = rest.split_once('[') {
        let (inside, after) =
            after.split_once(']').ok_or_else(|| format!("\"{entry}\" does not close a bracket"))?;
        let mut next = Vec::new();
        for start in &found {
            for part in inside.split(',') {
                numbers(part.trim(), |number| {
                    next.push(format!("{start}{before}{number}"));
                    next.len() + names.len() <= MAX_HOSTS
                })
                .ok_or_else(|| {
                    format!("\"{part}\" in \"{entry}\" is no range of up to {MAX_HOSTS} numbers")
                })?;
            }
        }
        found = next;
        rest = after;
    }
    for mut name in found {
        name.push_str(rest);
        if name.is_empty() {
            return Err("an empty name in a list of hosts".to_owned());
        }
        names.push(name);
    }
    Ok(())
}

/// The numbers of `07` or `01-16`, as wide as the first; `None` where it is none or `take` wants no more.
fn numbers(part: &str, mut take: impl FnMut(String) -> bool) -> Option<()> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let width = first.len();
    let digits =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok())?;
    let (first, last) = (digits(first)?, digits(last)?);
    if last < first {
        return None;
    }
    (first..=last).all(|number| take(format!("{number:0width$}"))).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_expanded() {
        assert_eq!(expand("n1").unwrap(), ["n1"]);
        assert_eq!(expand("gpu[08-10,2],login").unwrap(), ["gpu08", "gpu09", "gpu10", "gpu2", "login"]);
        assert_eq!(expand("r[1-2]n[1-2]x").unwrap(), ["r1n1x", "r1n2x", "r2n1x", "r2n2x"]);
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for list in ["", "a[", "a]", "a[2-1]", "a[x]", "a[1-99999999]", "a,,b", "a[1-3][1-999999]", "a[]"] {
            assert!(expand(list).is_err(), "{list}");
        }
    }
}
