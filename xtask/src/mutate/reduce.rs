//! Reduces inputs that fail: removes lines as long as the fault stays the same.

use std::time::{Duration, Instant};

/// The time limit for one input.
const TIME: Duration = Duration::from_secs(40);

/// Removes all lines that are not needed: halves of the lines first, single lines last.
pub(super) fn reduced(input: &[u8], fails: &mut dyn FnMut(&[u8]) -> bool) -> Vec<u8> {
    let start = Instant::now();
    let mut lines: Vec<&[u8]> = input.split_inclusive(|&byte| byte == b'\n').collect();
    let mut size = lines.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        let before = lines.len();
        while at < lines.len() {
            if start.elapsed() > TIME {
                return lines.concat();
            }
            let end = (at + size).min(lines.len());
            let rest = [&lines[..at], &lines[end..]].concat();
            match fails(&rest.concat()) {
                true => lines = rest,
                false => at = end,
            }
        }
        size = match size {
            1 if lines.len() < before => 1,
            1 => 0,
            size => size / 2,
        };
    }
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_the_fault_needs_stay() {
        let input: String = (0..100).map(|line| format!("line {line}\n")).collect();
        let small = reduced(input.as_bytes(), &mut |input| {
            let text = String::from_utf8_lossy(input);
            text.contains("line 17\n") && text.contains("line 80\n")
        });
        assert_eq!(small, b"line 17\nline 80\n");
    }
}
