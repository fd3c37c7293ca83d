//! A Parquet file: a data frame with a row per instruction.
//!
//! Rows are written in groups of a fixed number, so memory does not grow with the input. Strings
//! that rows share (files, functions) take little memory, because the writer stores each string
//! once per group. The columns are those of the JSON lines, with a null where a JSON value is null
//! or absent.

use std::io::Write;
use std::sync::{Arc, Mutex};

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use ptxc_container::Function;
use ptxc_sass::text::number::hex;
use rayon::prelude::*;

use super::pieces::{BATCH, batches};
use super::row::{Piece, Source, Undecoded};

/// Rows in a group.
const GROUP: usize = 1 << 18;

const SCHEMA: &str = "message instructions {
    required binary file (string);
    optional binary member (string);
    required int32 image (integer(32, false));
    required binary arch (string);
    required binary function (string);
    required int32 offset (integer(32, false));
    required binary instruction (string);
    required int32 stall (integer(8, false));
    required boolean yield;
    optional int32 read (integer(8, false));
    optional int32 write (integer(8, false));
    required int32 wait (integer(8, false));
    required int32 reuse (integer(8, false));
    required int32 batch (integer(8, false));
    required binary word (string);
    optional binary note (string);
}";

/// The values of a column with optional values.
#[derive(Default)]
struct Optional<T> {
    values: Vec<T>,
    /// 1 for each row with a value, 0 for each row without.
    levels: Vec<i16>,
}

impl<T> Optional<T> {
    fn push(&mut self, value: Option<T>) {
        self.levels.push(i16::from(value.is_some()));
        self.values.extend(value);
    }

    fn append(&mut self, mut other: Optional<T>) {
        self.values.append(&mut other.values);
        self.levels.append(&mut other.levels);
    }
}

/// Rows as columns, in the order of the schema.
#[derive(Default)]
struct Columns {
    file: Vec<ByteArray>,
    member: Optional<ByteArray>,
    image: Vec<i32>,
    arch: Vec<ByteArray>,
    function: Vec<ByteArray>,
    offset: Vec<i32>,
    instruction: Vec<ByteArray>,
    stall: Vec<i32>,
    yields: Vec<bool>,
    read: Optional<i32>,
    write: Optional<i32>,
    wait: Vec<i32>,
    reuse: Vec<i32>,
    batch: Vec<i32>,
    word: Vec<ByteArray>,
    note: Optional<ByteArray>,
}

impl Columns {
    /// The rows of a piece.
    fn of(source: &Source<'_>, piece: &Piece<'_>) -> (Columns, Undecoded) {
        let mut columns = Columns::default();
        let file = ByteArray::from(source.file);
        let member = source.place.member.as_deref().map(ByteArray::from);
        let arch = ByteArray::from(source.arch.to_string().as_str());
        let function = ByteArray::from(&*piece.function.name);
        let mut word = String::new();
        let undecoded = piece.rows(source.arch, |row| {
            let fields = row.fields;
            columns.file.push(file.clone());
            columns.member.push(member.clone());
            columns.image.push(source.place.number.cast_signed());
            columns.arch.push(arch.clone());
            columns.function.push(function.clone());
            columns.offset.push(row.offset.cast_signed());
            columns.instruction.push(ByteArray::from(row.text()));
            columns.stall.push(i32::from(fields.stall));
            columns.yields.push(fields.yields);
            columns.read.push(fields.read.map(i32::from));
            columns.write.push(fields.write.map(i32::from));
            columns.wait.push(i32::from(fields.wait));
            columns.reuse.push(i32::from(fields.reuse));
            columns.batch.push(i32::from(fields.batch));
            word.clear();
            word.push_str("0x");
            hex(&mut word, row.word, 32).expect("a string takes everything");
            columns.word.push(ByteArray::from(word.as_str()));
            columns.note.push(row.note.map(ByteArray::from));
        });
        (columns, undecoded)
    }

    fn append(&mut self, mut other: Columns) {
        self.file.append(&mut other.file);
        self.member.append(other.member);
        self.image.append(&mut other.image);
        self.arch.append(&mut other.arch);
        self.function.append(&mut other.function);
        self.offset.append(&mut other.offset);
        self.instruction.append(&mut other.instruction);
        self.stall.append(&mut other.stall);
        self.yields.append(&mut other.yields);
        self.read.append(other.read);
        self.write.append(other.write);
        self.wait.append(&mut other.wait);
        self.reuse.append(&mut other.reuse);
        self.batch.append(&mut other.batch);
        self.word.append(&mut other.word);
        self.note.append(other.note);
    }

    /// Writes a group of rows.
    fn write(self, mut group: SerializedRowGroupWriter<'_, Shared>) -> Result<()> {
        strings(&mut group, &self.file, None)?;
        strings(&mut group, &self.member.values, Some(&self.member.levels))?;
        numbers(&mut group, &self.image, None)?;
        strings(&mut group, &self.arch, None)?;
        strings(&mut group, &self.function, None)?;
        numbers(&mut group, &self.offset, None)?;
        strings(&mut group, &self.instruction, None)?;
        numbers(&mut group, &self.stall, None)?;
        if let Some(mut column) = group.next_column()? {
            column.typed::<BoolType>().write_batch(&self.yields, None, None)?;
            column.close()?;
        }
        numbers(&mut group, &self.read.values, Some(&self.read.levels))?;
        numbers(&mut group, &self.write.values, Some(&self.write.levels))?;
        for values in [&self.wait, &self.reuse, &self.batch] {
            numbers(&mut group, values, None)?;
        }
        strings(&mut group, &self.word, None)?;
        strings(&mut group, &self.note.values, Some(&self.note.levels))?;
        group.close()?;
        Ok(())
    }
}

fn strings(
    group: &mut SerializedRowGroupWriter<'_, Shared>,
    values: &[ByteArray],
    levels: Option<&[i16]>,
) -> Result<()> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<ByteArrayType>().write_batch(values, levels, None)?;
        column.close()?;
    }
    Ok(())
}

fn numbers(
    group: &mut SerializedRowGroupWriter<'_, Shared>,
    values: &[i32],
    levels: Option<&[i16]>,
) -> Result<()> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<Int32Type>().write_batch(values, levels, None)?;
        column.close()?;
    }
    Ok(())
}

/// The bytes that the Parquet writer produces. The writer must own its destination and be able to
/// send it, so the buffer is shared with the code that passes the bytes on.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().expect("no writer panics with it"))
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no writer panics with it").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A partly written file.
pub(super) struct Frame {
    writer: SerializedFileWriter<Shared>,
    bytes: Shared,
    pending: Columns,
}

fn io(error: parquet::errors::ParquetError) -> std::io::Error {
    std::io::Error::other(error)
}

impl Frame {
    /// Begins a file.
    pub(super) fn begin() -> std::io::Result<Frame> {
        let schema = Arc::new(parse_message_type(SCHEMA).map_err(io)?);
        let created = format!("ptxc {}", env!("CARGO_PKG_VERSION"));
        let properties = Arc::new(WriterProperties::builder().set_created_by(created).build());
        let bytes = Shared::default();
        let writer = SerializedFileWriter::new(bytes.clone(), schema, properties).map_err(io)?;
        Ok(Frame { writer, bytes, pending: Columns::default() })
    }

    /// Adds an image.
    pub(super) fn image(
        &mut self,
        source: &Source<'_>,
        functions: &[Function<'_>],
        out: &mut dyn Write,
        note: &mut dyn FnMut(&Function<'_>, Undecoded),
    ) -> std::io::Result<()> {
        for window in batches(functions).chunks(GROUP / BATCH) {
            let columns: Vec<Vec<(Columns, Undecoded)>> = window
                .par_iter()
                .map(|batch| batch.iter().map(|piece| Columns::of(source, piece)).collect())
                .collect();
            for (piece, (columns, undecoded)) in window.iter().flatten().zip(columns.into_iter().flatten()) {
                self.pending.append(columns);
                note(piece.function, undecoded);
            }
            if self.pending.offset.len() >= GROUP {
                self.flush()?;
                out.write_all(&self.bytes.take())?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let columns = std::mem::take(&mut self.pending);
        columns.write(self.writer.next_row_group().map_err(io)?).map_err(io)
    }

    /// Ends the file.
    pub(super) fn finish(mut self, out: &mut dyn Write) -> std::io::Result<()> {
        if !self.pending.offset.is_empty() {
            self.flush()?;
        }
        self.writer.close().map_err(io)?;
        out.write_all(&self.bytes.take())
    }
}
