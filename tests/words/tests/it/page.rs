//! The page of the book agrees with the table.

use ptxc_words::page;

#[test]
fn the_page_of_the_book_is_not_stale() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/instructions.md"));
    assert!(page.expect("the page can be read") == page::text(), "run `cargo xtask bits --write`");
}
