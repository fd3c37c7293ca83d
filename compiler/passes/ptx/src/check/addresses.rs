//! Addresses in brackets: the register or the variable, and its state space.

use ptxc_syntax::ast::{Address, Expr, Space};
use ptxc_syntax::const_eval::Constant;
use ptxc_syntax::{Name, NodeId};

use super::codes;
use super::names::Thing;
use super::operands::Operands;
use super::table::{AddressSpace, Mnemonic};
use super::types::{Class, Scalar};
use crate::diagnostic::Diagnostic;

impl Operands<'_, '_> {
    pub(super) fn address(&mut self, kind: AddressSpace, address: &Address, node: NodeId) {
        let space = match kind {
            AddressSpace::Any => None,
            AddressSpace::Tensor => return self.tensor_address(address, node),
            AddressSpace::Fixed(space) => Some(space),
            AddressSpace::Group(group) => self.form.choice(group).map(|choice| choice.text),
        };
        if let Some(part) = address.rest.first() {
            let message = format!("`{}` expects one address in brackets", self.opcode());
            let finding = Diagnostic::error(codes::OPERAND_KIND, part.id, message);
            return self.out.push(finding.label("only textures, surfaces and tensors have coordinates"));
        }
        if !self.is_integer(address.place.offset.as_ref(), node) {
            return;
        }
        let Some(base) = &address.place.base else {
            // A thread's own memory begins at a known address.
            if space != Some("local") {
                let message = format!("`{}` expects a register or a variable as an address", self.opcode());
                let finding =
                    Diagnostic::error(codes::ADDRESS_TYPE, node, message).label("this is a constant");
                self.out.push(finding.help("move the address into a register first: `mov.u64 %rd, …;`"));
            }
            return;
        };
        match self.names.find(base) {
            None => {}
            Some(Thing::Register(register, None))
                if matches!(register.class(), Class::Bits | Class::Integer) && register.bits() <= 64 =>
            {
                self.wide_enough((kind, space), base, register, node);
            }
            Some(thing @ Thing::Register(..)) => {
                let message = "expected an integer or untyped register as an address";
                let finding = Diagnostic::error(codes::ADDRESS_TYPE, node, message);
                let what = match thing {
                    Thing::Register(register, None) => format!("`{register}`"),
                    thing => thing.describe(),
                };
                self.out.push(finding.label(format!("`{base}` is {what}")));
            }
            Some(Thing::Memory(own, _)) => {
                // `shared::cta` is a part of the space `shared`.
                let wanted = space.map(|space| space.split("::").next().unwrap_or(space));
                if let Some(wanted) = wanted
                    && wanted != own.spelling()
                {
                    let message = format!("`{}` expects an address in `.{wanted}`", self.opcode());
                    let own = own.spelling();
                    let mut finding = Diagnostic::error(codes::STATE_SPACE, node, message)
                        .label(format!("`{base}` is in `.{own}`"));
                    let opcode = &self.instruction.opcode;
                    let mut choices = self.form.row.groups.iter().flat_map(|group| group.choices);
                    if opcode.has(wanted) && choices.any(|choice| choice.text == own) {
                        let right = opcode.as_str().replacen(&format!(".{wanted}"), &format!(".{own}"), 1);
                        finding.help = Some(format!("write `{right}`"));
                    }
                    self.out.push(finding);
                } else if space.is_none()
                    && !self.is_about_image()
                    && (self.takes_global() && own != Space::Global
                        || matches!(own, Space::Param | Space::Const))
                {
                    let own = own.spelling();
                    let message = format!("`{}` expects a generic address", self.opcode());
                    let finding = Diagnostic::error(codes::STATE_SPACE, node, message)
                        .label(format!("`{base}` is in `.{own}`"));
                    self.out.push(match self.takes_global() {
                        true => finding,
                        false => finding.help(format!("write `.{own}` after the name of the instruction")),
                    });
                } else if space == Some("param::func") && self.names.is_kernel_parameter(base) {
                    let message = format!("`{}` expects a parameter of a call", self.opcode());
                    let finding = Diagnostic::error(codes::STATE_SPACE, node, message);
                    self.out.push(finding.label(format!("`{base}` is a parameter of the kernel")));
                } else if self.stores() && self.names.is_parameter(base) {
                    let message = format!("the parameter `{base}` can't be written");
                    let finding = Diagnostic::error(codes::ASSIGNED_CONSTANT, node, message);
                    self.out.push(
                        finding.label("parameters are read-only").help("copy it to a `.local` variable"),
                    );
                }
            }
            Some(thing) => {
                let message = format!("`{}` expects an address in brackets", self.opcode());
                let finding = Diagnostic::error(codes::OPERAND_KIND, node, message);
                self.out.push(finding.label(format!("`{base}` is {}", thing.describe())));
            }
        }
    }

    /// Whether the constant part of an address is an integer; reports other constants.
    fn is_integer(&mut self, offset: Option<&Expr>, node: NodeId) -> bool {
        let message = match offset.map(Expr::evaluate) {
            None | Some(Ok(Constant::S64(_) | Constant::U64(_))) => return true,
            Some(Ok(_)) => "expected an integer in the address, found a floating-point number",
            Some(Err(_)) => "the constant in this address has no value",
        };
        let finding = Diagnostic::error(codes::CONSTANT_TYPE, node, message);
        self.out.push(finding.label("an address is counted in bytes"));
        false
    }

    /// Whether a register holds a whole address: of 64 bits in global and generic memory, of 32 bits
    /// or more elsewhere. A narrower register has lost a part of the pointer.
    fn wide_enough(
        &mut self,
        (kind, space): (AddressSpace, Option<&str>),
        name: &Name,
        register: Scalar,
        node: NodeId,
    ) {
        // The modifiers of an instruction that takes any address may say that it is shared.
        let may_be_shared = kind == AddressSpace::Any && !self.takes_global();
        let is_global = matches!(space, None | Some("global")) && !may_be_shared;
        if !is_global || register.bits() >= self.names.address_bits() {
            return;
        }
        let bits = self.names.address_bits();
        let message = format!("`{}` expects an address of {bits} bits", self.opcode());
        self.out.push(
            Diagnostic::error(codes::ADDRESS_TYPE, node, message)
                .label(format!("`{name}` has {} bits", register.bits()))
                .help(format!(
                    "keep the address in a `.b{bits}` register from where it is loaded or computed"
                )),
        );
    }

    /// Whether the instruction asks for a property of a texture, sampler or surface, which may be a
    /// parameter; [`textures`](super::textures) checks it.
    fn is_about_image(&self) -> bool {
        matches!(self.form.row.instruction, Mnemonic::Txq | Mnemonic::TxqLevel | Mnemonic::Suq)
    }

    /// Whether the instruction has no state space, and the only variables that it takes are global.
    fn takes_global(&self) -> bool {
        self.form.row.instruction == Mnemonic::Prefetchu
    }

    /// An address in tensor memory: 32 bits, in a register.
    fn tensor_address(&mut self, address: &Address, node: NodeId) {
        if !self.is_integer(address.place.offset.as_ref(), node) {
            return;
        }
        let Some(base) = &address.place.base else { return };
        let Some(thing) = self.names.find(base) else { return };
        let is_fine = matches!(&thing, Thing::Register(ty, None)
            if ty.bits() == 32 && matches!(ty.class(), Class::Bits | Class::Integer));
        if !is_fine {
            let message = "expected a 32-bit integer or untyped register as an address in tensor memory";
            let finding = Diagnostic::error(codes::ADDRESS_TYPE, node, message);
            self.out.push(finding.label(format!("`{base}` is {}", thing.describe())));
        }
    }
}
