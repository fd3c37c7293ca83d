//! The services of the driver that a kernel may call: `vprintf`, `__assertfail`, `malloc`, `free`.
//!
//! In: the arguments of one lane, in the order of the declaration; CUDA C++ Programming Guide,
//! "Formatted Output", "Assertion", "Dynamic Global Memory Allocation and Operations". Out: the result,
//! if there is one. Printed text and the heap belong to the [memory](GridMemory) of the grid.
//!
//! Bytes that the heap hands out hold a pattern, since a driver does not clear them either. An access to
//! bytes that have been given back is a fault.

use crate::engine::Step;
use crate::error::Fault;
use crate::memory::{GridMemory, Memory};
use crate::printed::Printed;
use crate::printf;

/// A service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// `int vprintf(const char *format, const void *arguments)`
    Print,
    /// `void __assertfail(const char *condition, const char *file, unsigned line,
    /// const char *function, size_t bytes_of_a_character)`
    AssertFail,
    /// `void *malloc(size_t bytes)`
    Allocate,
    /// `void free(void *address)`
    Free,
}

impl Service {
    /// All services, with their names and the sizes of their arguments in bytes.
    const ALL: [(&'static str, Service, &'static [u32]); 4] = [
        ("vprintf", Service::Print, &[8, 8]),
        ("__assertfail", Service::AssertFail, &[8, 8, 4, 8, 8]),
        ("malloc", Service::Allocate, &[8]),
        ("free", Service::Free, &[8]),
    ];

    /// The service of that name.
    pub fn named(name: &str) -> Option<Service> {
        Service::ALL.iter().find(|(known, ..)| *known == name).map(|&(_, service, _)| service)
    }

    /// The sizes of its arguments, in bytes.
    pub fn arguments(self) -> &'static [u32] {
        Service::ALL.iter().find(|(_, known, _)| *known == self).map_or(&[], |&(.., sizes)| sizes)
    }

    /// The address of a function that the driver provides, above all programs; that of a function that
    /// it does not provide is [`NOWHERE`].
    pub fn address(name: &str) -> u64 {
        let number = Service::ALL.iter().position(|(known, ..)| *known == name);
        number.map_or(NOWHERE, |number| FIRST_ADDRESS + 16 * number as u64)
    }

    /// The service at an address.
    pub fn at(address: u64) -> Option<Service> {
        let distance = address.checked_sub(FIRST_ADDRESS).filter(|distance| distance % 16 == 0)?;
        let number = usize::try_from(distance / 16).ok()?;
        Service::ALL.get(number).map(|&(_, service, _)| service)
    }
}

/// What is not supported: a call of a function that the driver provides and the simulator does not.
pub(crate) const NO_FUNCTION: &str = "calls a function of the driver that the simulator does not have";

/// The address of the first service: above all programs, and within 32 bits.
const FIRST_ADDRESS: u64 = 0xfff0_0000;
/// The address of a function that is neither part of the program nor a service.
pub(crate) const NOWHERE: u64 = 0xffe0_0000;

/// The content of bytes that nothing has been written to.
const PATTERN: u8 = 0xcd;

/// Serves one lane. The result is that of the function, 0 if it has none.
pub(crate) fn serve(
    service: Service,
    step: &mut Step<'_>,
    lane: u32,
    arguments: &[u64],
) -> Result<u64, Fault> {
    let argument = |number: usize| arguments.get(number).copied().unwrap_or(0);
    match service {
        Service::Print => {
            let (text, count) = printf::format(&mut step.memory, lane, argument(0), argument(1))?;
            let [x, y, z] = step.cta.map(u64::from);
            let [width, height, _] = step.shape.grid.map(u64::from);
            let (cta, thread) = (x + width * (y + height * z), step.memory.first_thread + lane);
            step.memory.grid.printed.push(Printed { cta, thread, text });
            Ok(count.into())
        }
        Service::AssertFail => {
            let text = assertion(&mut step.memory, lane, arguments)?;
            Err(Fault::new(lane, text))
        }
        Service::Allocate => Ok(allocate(step.memory.grid, argument(0))),
        Service::Free => {
            free(step.memory.grid, argument(0)).map(|()| 0).map_err(|what| Fault::new(lane, what))
        }
    }
}

/// The message of a failed assertion: `kernel.cu:12: void f(int): the assertion `x > 0` fails`.
fn assertion(memory: &mut Memory<'_>, lane: u32, arguments: &[u64]) -> Result<String, Fault> {
    let &[condition, file, line, function, _] = arguments else {
        return Ok("an assertion fails".to_string());
    };
    let mut text = |address| printf::string(memory, lane, address);
    let (file, function, condition) = (text(file)?, text(function)?, text(condition)?);
    Ok(format!("{file}:{}: {function}: the assertion `{condition}` fails", line as u32))
}

/// A new block of the heap; 0 if there is no room for it.
fn allocate(memory: &mut GridMemory, bytes: u64) -> u64 {
    if !memory.heap.has_room(bytes) {
        return 0;
    }
    let address = memory.global.allocate("a block of the heap", vec![PATTERN; bytes as usize]);
    memory.heap.add(address, bytes);
    address
}

/// Gives a block back; the address 0 is none.
fn free(memory: &mut GridMemory, address: u64) -> Result<(), String> {
    if address == 0 {
        return Ok(());
    }
    if !memory.heap.remove(address) {
        return Err(format!("frees {address:#x}, where no block of the heap begins"));
    }
    memory.global.release(address);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::MOST_BYTES;

    #[test]
    fn addresses_name_services() {
        for (name, service, _) in Service::ALL {
            assert_eq!(Service::at(Service::address(name)), Some(service));
            assert_eq!(Service::named(name), Some(service));
        }
        assert_eq!(Service::address("f"), NOWHERE);
        assert_eq!((Service::at(NOWHERE), Service::at(FIRST_ADDRESS + 8)), (None, None));
    }

    #[test]
    fn the_heap_is_limited_and_knows_its_blocks() {
        let mut memory = GridMemory::default();
        let first = allocate(&mut memory, MOST_BYTES - 16);
        let second = allocate(&mut memory, 5);
        assert!(first != 0 && second > first);
        assert_eq!(allocate(&mut memory, 1), 0);
        assert_eq!(allocate(&mut memory, u64::MAX), 0);
        assert!(free(&mut memory, second + 4).is_err());
        free(&mut memory, second).unwrap();
        assert!(free(&mut memory, second).is_err());
        assert_eq!(free(&mut memory, 0), Ok(()));
        assert!(allocate(&mut memory, 16) != 0);
        assert!(memory.global.content(second).is_empty());
    }
}
