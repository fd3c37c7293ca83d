use ptxc_syntax::ast::Space;

use super::*;

fn read(text: &'static str) -> Result<Vec<Row>, String> {
    lines::rows(&[("test", text)])
}

#[test]
fn every_row_is_sound() {
    for row in TABLE.rows() {
        for operand in row.operands {
            if let Kind::Address(AddressSpace::Fixed(space)) = operand.kind {
                assert!(Space::ALL.iter().any(|known| known.spelling() == space), "{row}: no space .{space}");
            }
            let Kind::Value(value) = &operand.kind else { continue };
            for ty in [Some(value.ty), value.second.map(|second| second.0)].into_iter().flatten() {
                let (TypeOf::Group(group) | TypeOf::Wide(group)) = ty else { continue };
                for choice in row.groups[group].choices {
                    let scalar = choice.scalar;
                    assert!(scalar.is_some(), "{row}: .{} is not a type", choice.text);
                    if matches!(ty, TypeOf::Wide(_)) {
                        assert!(scalar.unwrap().wide().is_some(), "{row}: .{} has no wide type", choice.text);
                    }
                }
            }
            assert!(operand.written || value.second.is_none(), "{row}: only results come in pairs");
        }
        for group in row.groups {
            let mut texts: Vec<_> = group.choices.iter().map(|choice| choice.text).collect();
            texts.sort_unstable();
            texts.dedup();
            assert_eq!(texts.len(), group.choices.len(), "{row}: an alternative twice");
        }
    }
}

#[test]
fn a_row_in_full() {
    let rows = read(
        "set t = b32, b64@7.8@sm_90a/sm_100f\nrange n = 0..32 by 8 \"a number\"\n\
         x.lo .sat? .t:{$t,u16} .h:{p,q}=q .r?h | >t_|pred?, !pred, wide-t*4, u32:n?, b64?h | ptx 6.0 sm_30 until 6.4 sm_70",
    )
    .unwrap();
    let row = &rows[0];
    assert_eq!(row.to_string(), "x.lo{.sat}(.b32|.b64|.u16){.p|.q}{.r}");
    assert_eq!((row.leading, row.groups.len(), row.operands.len()), (1, 5, 5));
    assert_eq!(row.groups[2].choices[1].needs.targets.len(), 2);
    assert_eq!(row.groups[3].presence, Presence::Default(1));
    assert_eq!(row.groups[4].presence, Presence::With(3));
    assert_eq!(row.operands[4].presence, OperandPresence::With(3));
    let Kind::Value(count) = &row.operands[3].kind else { panic!() };
    assert_eq!(count.range.unwrap().multiple, 8);
    assert_eq!(row.until.unwrap().1, 70);
}

#[test]
fn mistakes_name_their_line() {
    for (text, wrong) in [
        ("\nx .{a,b}=c", "test.txt:2: the default c is not an alternative"),
        ("x .a | >t", "test.txt:1: no modifier is labelled t"),
        ("x .{$s}", "test.txt:1: no set s"),
        ("x | u32:r", "test.txt:1: no range r"),
        ("x .a@sm_x", "test.txt:1: sm_x is neither a version nor a target"),
        ("x | [space]", "test.txt:1: no modifier is labelled space"),
        ("x | u32, , u32", "test.txt:1: no modifier is labelled "),
    ] {
        assert_eq!(read(text).err().as_deref(), Some(wrong));
    }
}

#[test]
fn an_instruction_is_found_by_its_name() {
    let mut count = 0;
    for mnemonic in TABLE.mnemonics() {
        let rows = TABLE.forms(mnemonic);
        assert!(!rows.is_empty() && rows.iter().all(|row| row.mnemonic == mnemonic), "{mnemonic}");
        count += rows.len();
    }
    assert_eq!(count, TABLE.rows().len());
    assert!(TABLE.forms("ad").is_empty());
}

#[test]
fn the_rows_of_an_instruction_stand_together() {
    let rows = lines::rows(&[("one", "x .a\ny .b"), ("other", "{z,x} .c")]).unwrap();
    let rows: Vec<String> = rows.iter().map(Row::to_string).collect();
    assert_eq!(rows, ["x.a", "x.c", "y.b", "z.c"]);
}
