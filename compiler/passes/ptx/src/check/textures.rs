//! The textures, samplers and surfaces that an instruction names.
//!
//! A variable has the kind that the instruction asks for, or a register of 64 bits holds its
//! address. With `texmode_independent`, a sampler stands beside each texture, and queries about
//! samplers name one.

use ptxc_syntax::ast::{Address, Instruction, Operand, OperandKind, Type};
use ptxc_syntax::{Name, NodeId};

use super::codes;
use super::env::{ModuleEnv, PtxTarget, PtxVersion, TargetKind};
use super::forms::Form;
use super::names::{Names, Thing};
use super::needs::Needs;
use super::requirements::{target_too_old, version_too_old};
use super::scope::Meaning;
use super::table::Mnemonic;
use super::types::Class;
use crate::diagnostic::Diagnostic;

/// The queries that are about a sampler.
const OF_SAMPLERS: [&str; 5] =
    ["force_unnormalized_coords", "filter_mode", "addr_mode_0", "addr_mode_1", "addr_mode_2"];

const SM_20: Needs =
    Needs { version: None, targets: &[PtxTarget { number: 20, kind: TargetKind::Baseline }] };
const SM_30: Needs =
    Needs { version: None, targets: &[PtxTarget { number: 30, kind: TargetKind::Baseline }] };

/// Checks the names and registers of an instruction that fits its row.
pub(super) fn check(
    form: &Form,
    instruction: &Instruction,
    names: &Names,
    env: &ModuleEnv,
    out: &mut Vec<Diagnostic>,
) {
    let mut check = Check { opcode: instruction.opcode.as_str(), names, env, out };
    let address = instruction.operands.iter().find_map(|operand| match &operand.kind {
        OperandKind::Address(address) => Some((&**address, operand.id)),
        _ => None,
    });
    let mnemonic = form.row.instruction;
    if mnemonic == Mnemonic::Mov {
        if let Some(operand) = instruction.operands.get(1) {
            check.taken(operand);
        }
        return;
    }
    let Some((address, node)) = address else { return };
    match mnemonic {
        Mnemonic::Tex | Mnemonic::Tld4 => {
            check.shape(instruction);
            check.place(address, node, Type::Texref);
            if env.has_samplers {
                check.sampler(address, node);
            } else if let [other, _, ..] = &address.rest[..] {
                check.needs("an operand beside the texture", PtxVersion(4, 3), &SM_30, other.id);
            }
        }
        Mnemonic::Txq | Mnemonic::TxqLevel => {
            let is_of_sampler = instruction.opcode.modifiers().any(|part| OF_SAMPLERS.contains(&part));
            // A texture without a sampler of its own has no such property, so only a register fits.
            let is_forced = instruction.opcode.modifiers().any(|part| part == OF_SAMPLERS[0]);
            let is_sampler = is_of_sampler && env.has_samplers || is_forced;
            let wanted = if is_sampler { Type::Samplerref } else { Type::Texref };
            check.place(address, node, wanted);
        }
        Mnemonic::SuldB
        | Mnemonic::SustB
        | Mnemonic::SustP
        | Mnemonic::SuredB
        | Mnemonic::SuredP
        | Mnemonic::Suq => check.place(address, node, Type::Surfref),
        _ => {}
    }
}

struct Check<'a, 'n> {
    opcode: &'a str,
    names: &'a Names<'n>,
    env: &'a ModuleEnv,
    out: &'a mut Vec<Diagnostic>,
}

impl Check<'_, '_> {
    /// The rules about the shape of a texture: the type of coordinates, a level, an offset, a comparison.
    fn shape(&mut self, instruction: &Instruction) {
        let has = |words: &[&str]| instruction.opcode.modifiers().any(|part| words.contains(&part));
        let (is_cube, has_samples) = (has(&["cube", "acube"]), has(&["2dms", "a2dms"]));
        let (has_level, has_gradient) = (has(&["level"]), has(&["grad"]));
        // The coordinates have the last type.
        let is_whole = instruction.opcode.modifiers().last() == Some("s32");
        let node = instruction.opcode.id;
        if is_cube && is_whole || has_samples && !is_whole {
            let (kind, ty) = if is_cube { ("floating-point", "f32") } else { ("whole", "s32") };
            let message = format!("`{}` expects {kind} coordinates", self.opcode);
            let finding = Diagnostic::error(codes::MODIFIER_NOT_HERE, node, message);
            self.out.push(finding.help(format!("end the opcode with `.{ty}`")));
        }
        if has_samples && (has_level || has_gradient) {
            let message = format!("`{}` reads a texture that has one level", self.opcode);
            let finding = Diagnostic::error(codes::MODIFIER_NOT_HERE, node, message);
            self.out.push(finding.help("write `tex` without `.level` and `.grad`"));
        }
        let before = 2 + usize::from(has_level) + 2 * usize::from(has_gradient);
        for operand in instruction.operands.iter().skip(before) {
            let is_offset = matches!(operand.kind, OperandKind::Vector(_));
            let what = match is_offset {
                true if is_cube => "no offset",
                false if is_whole => "no comparison at whole coordinates",
                false if has(&["3d"]) || has_samples => "no comparison",
                _ => continue,
            };
            let message = format!("`{}` has {what}", self.opcode);
            let finding = Diagnostic::error(codes::OPERAND_KIND, operand.id, message);
            self.out.push(finding.help("remove the operand"));
        }
    }

    /// The place in brackets before the coordinates.
    fn place(&mut self, address: &Address, node: NodeId, wanted: Type) {
        if let Some(base) = &address.place.base {
            self.object(base, node, wanted);
        }
        if address.place.offset.is_some() {
            let message = format!("`{}` expects a name or a register without an offset", self.opcode);
            let finding = Diagnostic::error(codes::OPERAND_KIND, node, message);
            self.out.push(finding.label(format!("a `.{}` has no parts", wanted.spelling())));
        }
    }

    /// The sampler before the coordinates.
    fn sampler(&mut self, address: &Address, node: NodeId) {
        match &address.rest[..] {
            [sampler, _, ..] => {
                if let Some(name) = sampler.as_symbol() {
                    self.object(name, sampler.id, Type::Samplerref);
                }
            }
            _ => {
                let message = format!("`{}` expects a sampler before the coordinates", self.opcode);
                self.out.push(
                    Diagnostic::error(codes::OPERAND_KIND, node, message)
                        .label("a texture alone")
                        .note("the module has `texmode_independent`")
                        .help("write `[texture, sampler, {…}]`"),
                );
            }
        }
    }

    /// A variable of the wanted type, or a register with the address of one.
    fn object(&mut self, name: &Name, node: NodeId, wanted: Type) {
        let spelling = wanted.spelling();
        if let Some(ty) = self.variable(name).filter(|&ty| ty != wanted) {
            let message = format!("`{}` expects a `.{spelling}`", self.opcode);
            let finding = Diagnostic::error(codes::OPERAND_KIND, node, message);
            return self.out.push(finding.label(format!("`{name}` is a `.{}`", ty.spelling())));
        }
        let Some(Thing::Register(ty, vector)) = self.names.find(name) else { return };
        if vector.is_some() || ty.bits() != 64 || !matches!(ty.class(), Class::Bits | Class::Integer) {
            let message = format!("`{}` expects a `.{spelling}` or a `.b64` register", self.opcode);
            let finding = Diagnostic::error(codes::OPERAND_KIND, node, message);
            let what = Thing::Register(ty, vector).describe();
            return self.out.push(finding.label(format!("`{name}` is {what}")));
        }
        let is_apart = self.env.has_samplers && wanted != Type::Surfref;
        let (version, target) = match is_apart {
            true => (PtxVersion(4, 3), SM_30),
            false => (PtxVersion(3, 1), SM_20),
        };
        self.needs(&format!("a `.{spelling}` in a register"), version, &target, node);
    }

    /// A name whose address `mov` takes.
    fn taken(&mut self, operand: &Operand) {
        let Some(name) = operand.as_symbol() else { return };
        let (what, version, target) = match (self.variable(name), self.names.find(name)) {
            (Some(Type::Texref), _) if self.env.has_samplers => ("texture", PtxVersion(4, 0), SM_20),
            (Some(Type::Texref), _) => ("texture", PtxVersion(3, 1), SM_20),
            (Some(Type::Surfref), _) => ("surface", PtxVersion(3, 1), SM_20),
            (Some(Type::Samplerref), _) => ("sampler", PtxVersion(4, 3), SM_30),
            (None, Some(Thing::Function)) => ("function", PtxVersion(2, 1), Needs::default()),
            _ => return,
        };
        self.needs(&format!("the address of a {what}"), version, &target, operand.id);
    }

    fn needs(&mut self, what: &str, version: PtxVersion, target: &Needs, node: NodeId) {
        if self.env.version < version {
            self.out.push(version_too_old(what, version, self.env.version, node));
        } else if !target.has_target(self.env.target) {
            self.out.push(target_too_old(what, target, self.env.target, node));
        }
    }

    /// The type of a variable of the function or of the module.
    fn variable(&self, name: &Name) -> Option<Type> {
        match self.names.scopes().lookup(name) {
            Some(Meaning::Variable(index)) => {
                self.names.scopes().variables.get(index).map(|(_, variable)| variable.ty)
            }
            Some(Meaning::Parameter(index)) => {
                self.names.scopes().parameters.get(index).map(|parameter| parameter.ty)
            }
            Some(_) => None,
            None => self.env.variables.get(name).map(|variable| variable.ty),
        }
    }
}
