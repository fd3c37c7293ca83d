use super::*;

/// Each half of the warp, as a mask for its own lanes.
const HALVES: [u32; LANES] = {
    let mut masks = [0xffff; LANES];
    let mut lane = 16;
    while lane < LANES {
        masks[lane] = 0xffff_0000;
        lane += 1;
    }
    masks
};

fn control() -> Control {
    Control::new(u32::MAX, Joining::Barriers)
}

fn at(control: &Control, pc: u32) -> usize {
    control.groups.iter().position(|group| group.pc == pc).unwrap()
}

/// A warp in a region: lane 0 has branched to 5, and the others continue at 1.
fn parted(barrier: u8) -> Control {
    let mut warp = control();
    warp.regions.open(u32::MAX, barrier, 9);
    warp.apply(0, Flow::Branch { taken: 1, target: 5 });
    warp
}

/// All lanes except lane 0 reach the end of the region.
fn others_come(warp: &mut Control, barrier: u8) {
    let index = at(warp, 1);
    warp.apply(index, Flow::Wait(!1, Wait::Converge(barrier)));
}

#[test]
fn bsync_joins_the_lanes_of_bssy() {
    let mut warp = control();
    warp.regions.open(u32::MAX, 0, 9);
    warp.apply(0, Flow::Branch { taken: 0xff, target: 5 });
    let index = at(&warp, 5);
    warp.apply(index, Flow::Wait(0xff, Wait::Converge(0)));
    assert_eq!(warp.groups.len(), 2);
    let index = at(&warp, 1);
    warp.apply(index, Flow::Exit(0x100));
    assert_eq!(warp.groups.len(), 2, "the others are still on their way");
    let index = at(&warp, 2);
    warp.apply(index, Flow::Wait(0xffff_fe00, Wait::Converge(0)));
    assert_eq!(&warp.groups[..], [Group { pc: 9, lanes: 0xffff_feff, wait: Wait::Ready }]);
}

#[test]
fn a_lane_that_breaks_is_not_waited_for() {
    let mut warp = parted(3);
    others_come(&mut warp, 3);
    assert!(warp.groups.iter().any(|group| group.wait == Wait::Converge(3)));
    warp.leave(1, 3);
    assert!(warp.groups.iter().any(|group| group.pc == 9 && group.lanes == !1));
}

#[test]
fn sibling_arms_use_one_barrier_at_once() {
    let mut warp = control();
    warp.apply(0, Flow::Branch { taken: 0xffff, target: 20 });
    warp.regions.open(0xffff, 1, 30);
    warp.regions.open(0xffff_0000, 1, 10);
    let index = at(&warp, 20);
    warp.apply(index, Flow::Wait(0xffff, Wait::Converge(1)));
    assert!(warp.groups.iter().any(|group| group.pc == 30 && group.lanes == 0xffff));
    let index = at(&warp, 1);
    warp.apply(index, Flow::Wait(0xffff_0000, Wait::Converge(1)));
    assert!(warp.groups.iter().any(|group| group.pc == 10 && group.lanes == 0xffff_0000));
}

#[test]
fn equal_places_join_in_the_ssa_engine_only() {
    for joining in [Joining::Barriers, Joining::Anywhere] {
        let mut warp = Control::new(u32::MAX, joining);
        warp.apply(0, Flow::Branch { taken: 0xf, target: 2 });
        let index = at(&warp, 1);
        warp.apply(index, Flow::Next);
        assert_eq!(warp.groups.len(), if joining == Joining::Anywhere { 1 } else { 2 });
    }
}

#[test]
fn a_collective_is_executed_once_and_left_for_different_places() {
    let mut warp = control();
    warp.apply(0, Flow::Branch { taken: 0xff, target: 20 });
    warp.goes_on_at(0xff, 40);
    let index = at(&warp, 20);
    warp.apply(index, Flow::Meet(Box::new([Wait::Collective(u32::MAX); LANES])));
    assert_eq!(warp.groups.len(), 2, "the others have not come");
    warp.goes_on_at(!0xff, 30);
    let index = at(&warp, 1);
    warp.apply(index, Flow::Meet(Box::new([Wait::Collective(u32::MAX); LANES])));
    assert_eq!(&warp.groups[..], [Group { pc: 21, lanes: u32::MAX, wait: Wait::Ready }]);
    let targets = warp.leave_collective(u32::MAX).unwrap();
    warp.apply(0, Flow::Spread(Box::new(targets)));
    assert!(warp.groups.iter().any(|group| group.pc == 40 && group.lanes == 0xff));
    assert!(warp.groups.iter().any(|group| group.pc == 30 && group.lanes == !0xff));
    assert_eq!(warp.leave_collective(1), Err(0), "it has left");
}

#[test]
fn lanes_wait_for_masks_of_their_own() {
    let mut warp = control();
    let halves = HALVES.map(Wait::Lanes);
    warp.apply(0, Flow::Branch { taken: 0xffff_0001, target: 1 });
    let index = warp.groups.iter().position(|group| group.lanes == 0xffff_0001).unwrap();
    warp.apply(index, Flow::Meet(Box::new(halves)));
    assert!(warp.groups.iter().any(|group| group.lanes == 0xffff_0000 && group.wait == Wait::Ready));
    assert!(warp.groups.iter().any(|group| group.lanes == 1 && group.wait == Wait::Lanes(0xffff)));
}

#[test]
fn a_region_that_is_saved_still_has_its_lanes() {
    let mut warp = parted(6);
    others_come(&mut warp, 6);
    // Lane 0 is in a function that uses the barrier for itself.
    let saved = warp.regions.save(1, 6);
    assert_ne!(saved[0], 0);
    warp.regions.open(1, 6, 7);
    let index = at(&warp, 5);
    warp.apply(index, Flow::Wait(1, Wait::Converge(6)));
    assert!(warp.groups.contains(&Group { pc: 7, lanes: 1, wait: Wait::Ready }), "it meets nobody there");
    assert_eq!(warp.restore(1, 6, &[0; LANES]), Err(0), "it was another region");
    let mut warp = parted(6);
    let saved = warp.regions.save(1, 6);
    others_come(&mut warp, 6);
    assert_eq!(warp.groups.len(), 2, "the others wait for it");
    warp.restore(1, 6, &saved).unwrap();
    let index = at(&warp, 5);
    warp.apply(index, Flow::Wait(1, Wait::Converge(6)));
    assert_eq!(warp.groups.len(), 1);
    assert_eq!(warp.groups[0].lanes, u32::MAX);
}

#[test]
fn masks_stay_apart_where_they_meet_exclusively() {
    let mut warp = control();
    warp.apply(0, Flow::Meet(Box::new(HALVES.map(Wait::Exclusive))));
    let lanes: Vec<u32> = warp.groups.iter().map(|group| group.lanes).collect();
    assert_eq!((lanes, warp.alone), (vec![0xffff, 0xffff_0000], u32::MAX));
    let mut warp = control();
    warp.apply(0, Flow::Meet(Box::new(HALVES.map(Wait::Lanes))));
    assert_eq!(warp.groups.len(), 1, "no matter whom it is for, a plain one lets them go on together");
}

#[test]
fn warpsync_with_another_mask_is_no_arrival() {
    let mut warp = control();
    warp.apply(0, Flow::Branch { taken: 0xffff, target: 7 });
    let index = at(&warp, 7);
    warp.apply(index, Flow::Wait(0xffff, Wait::Lanes(u32::MAX)));
    let index = at(&warp, 1);
    warp.apply(index, Flow::Wait(0xffff_0000, Wait::Lanes(0xffff_0000)));
    assert!(warp.groups.iter().any(|group| group.wait == Wait::Lanes(u32::MAX)));
    assert!(warp.groups.iter().any(|group| group.lanes == 0xffff_0000 && group.wait == Wait::Ready));
}

#[test]
fn warpsync_waits_for_the_mask() {
    let mut warp = control();
    warp.apply(0, Flow::Branch { taken: 0x3, target: 1 });
    warp.apply(0, Flow::Wait(!0x3, Wait::Lanes(u32::MAX)));
    assert!(warp.groups.iter().any(|group| group.wait == Wait::Lanes(u32::MAX)));
    let index = warp.groups.iter().position(|group| group.wait == Wait::Ready).unwrap();
    warp.apply(index, Flow::Wait(0x3, Wait::Lanes(u32::MAX)));
    assert_eq!(&warp.groups[..], [Group { pc: 2, lanes: u32::MAX, wait: Wait::Ready }]);
}

#[test]
fn lanes_that_sleep_end_their_regions() {
    let mut warp = parted(6);
    others_come(&mut warp, 6);
    assert_eq!(warp.groups.len(), 2, "the others wait");
    let saved = warp.regions.save(1, 6);
    warp.end_regions(1);
    assert!(warp.groups.iter().all(|group| group.wait == Wait::Ready), "the others go on");
    warp.restore(1, 6, &saved).unwrap();
    let index = warp.groups.iter().position(|group| group.lanes == 1).unwrap();
    warp.apply(index, Flow::Wait(1, Wait::Converge(6)));
    assert!(warp.groups.iter().all(|group| group.wait == Wait::Ready), "it waits for nobody");
}

#[test]
fn saved_regions_have_other_lanes_that_hold_them() {
    let mut warp = parted(6);
    assert!(!warp.regions.is_saved_by_others(2, 6));
    warp.regions.save(1, 6);
    assert!(warp.regions.is_saved_by_others(2, 6));
    assert!(!warp.regions.is_saved_by_others(1, 6), "it has none in the barrier");
}

#[test]
fn lanes_that_wait_for_collectives_have_their_masks_in_one_register() {
    let mut warp = control();
    warp.apply(0, Flow::Branch { taken: 1, target: 20 });
    assert_eq!(warp.names_mask_register(Some(PReg::r(4))), None);
    let index = at(&warp, 20);
    warp.apply(index, Flow::Meet(Box::new([Wait::Collective(u32::MAX); LANES])));
    assert_eq!(warp.names_mask_register(Some(PReg::r(4))), None);
    assert_eq!(warp.names_mask_register(Some(PReg::r(5))), Some(PReg::r(4)));
}
