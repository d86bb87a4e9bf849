//! The schema of a fleet's lines: as JSON Schema, and as the statements by which DuckDB and ClickHouse read them.
//!
//! Shipped as `share/schema/underbar.fleet.1.json`, `share/fleet/parquet.sql` and `share/fleet/clickhouse/table.sql`; a test keeps
//! these files equal to the results of this module. Readers must ignore unknown columns: within one version of the schema,
//! columns are only added.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::table::{Column, Kind, SCHEMA, columns};

/// The schema of a line, in JSON Schema's 2020-12 form.
#[must_use]
pub fn schema() -> Value {
    let columns = columns();
    let properties: Map<String, Value> =
        columns.iter().map(|column| (column.name.clone(), described(column))).collect();
    let required: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        "type": "object",
        "description": "A line of `underbar fleet`: one program of one run. The lists whose names begin with suggestion_ \
            have equal lengths; the elements of one place are one value that is suggested.",
        "properties": properties,
        "required": required,
    })
}

/// The schema as text, as in its file.
#[must_use]
pub fn text() -> String {
    format!("{:#}\n", schema())
}

fn described(column: &Column) -> Value {
    let integer = || json!({"type": "integer", "minimum": 0});
    let mut described = match column.kind {
        Kind::Text if column.name == "schema" => json!({"const": SCHEMA}),
        Kind::Text => json!({"type": "string"}),
        Kind::Integer => integer(),
        Kind::Signed => json!({"type": "integer"}),
        Kind::Switch => json!({"enum": [0, 1]}),
        Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Kind::Integers => json!({"type": "array", "items": integer()}),
    };
    if column.is_nullable {
        let within = if column.kind == Kind::Integers { &mut described["items"] } else { &mut described };
        within["type"] = json!([within["type"], "null"]);
    }
    described["description"] = json!(column.meaning);
    if let Some(unit) = column.unit {
        described["x-unit"] = json!(unit.name());
    }
    described
}

/// The statement by which DuckDB makes a Parquet file of lines. All columns are named, so that nothing is inferred.
#[must_use]
pub fn duckdb() -> String {
    let mut text = String::from(
        "-- Lines of `underbar fleet` to Parquet, for DuckDB: fleet.ndjson to fleet.parquet, in the working folder.\n\
         -- The other files of this folder read fleet.parquet. Made from the table of columns.\n\
         COPY (\n  SELECT * FROM read_ndjson('fleet.ndjson', maximum_object_size = 67108864, columns = {\n",
    );
    let columns = columns();
    for (at, column) in columns.iter().enumerate() {
        let of = match column.kind {
            Kind::Text if column.name == "time" => "TIMESTAMP",
            Kind::Text => "VARCHAR",
            Kind::Integer => "UBIGINT",
            Kind::Signed => "BIGINT",
            Kind::Switch => "UTINYINT",
            Kind::Texts => "VARCHAR[]",
            Kind::Integers => "UBIGINT[]",
        };
        let comma = if at + 1 < columns.len() { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    {}: '{of}'{comma}", column.name);
    }
    text + "  })\n) TO 'fleet.parquet' (FORMAT parquet, COMPRESSION zstd);\n"
}

/// The statement by which ClickHouse makes a table of lines.
#[must_use]
pub fn clickhouse() -> String {
    let mut text = String::from(
        "-- A table for the lines of `underbar fleet`, for ClickHouse. Made from the table of columns.\n\
         -- clickhouse-client --query 'INSERT INTO fleet FORMAT JSONEachRow' < fleet.ndjson fills it.\n\
         CREATE TABLE fleet (\n",
    );
    let columns = columns();
    for (at, column) in columns.iter().enumerate() {
        let of = match column.kind {
            Kind::Text if column.name == "time" => "DateTime('UTC')",
            Kind::Text => "String",
            Kind::Integer => "UInt64",
            Kind::Signed => "Int64",
            Kind::Switch => "UInt8",
            Kind::Texts => "Array(String)",
            Kind::Integers if column.is_nullable => "Array(Nullable(UInt64))",
            Kind::Integers => "Array(UInt64)",
        };
        let is_whole = column.is_nullable && !of.starts_with("Array");
        let of = if is_whole { format!("Nullable({of})") } else { of.to_owned() };
        let comma = if at + 1 < columns.len() { "," } else { "" };
        let _ = writeln!(text, "  {} {of}{comma}", column.name);
    }
    text + ") ENGINE = MergeTree() PARTITION BY toYYYYMM(time) ORDER BY (program, time);\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::lines;
    use underbar_report::json_schema::errors;
    use underbar_report::{sample, shipped};

    fn check_shipped(file: &str, made: &str) {
        shipped::check(file, made, "underbar-fleet");
    }

    #[test]
    fn the_shipped_files_are_these() {
        check_shipped("share/schema/underbar.fleet.1.json", &text());
        check_shipped("share/fleet/parquet.sql", &duckdb());
        check_shipped("share/fleet/clickhouse/table.sql", &clickhouse());
    }

    /// Each value of a line is one that its column may have, and none is missing.
    #[test]
    fn lines_validate() {
        let schema = schema();
        let columns = columns();
        for report in [sample::getfree(), sample::tree(), sample::low_coverage()] {
            for row in lines(&columns, &report, None) {
                let line: Value = serde_json::from_str(&row.text).expect("JSON");
                assert_eq!(line.as_object().map(Map::len), Some(columns.len()));
                assert_eq!(errors(&line, &schema, &|_| None), [""; 0]);
            }
        }
        for (name, wrong) in [
            ("schema", json!("x")),
            ("is_main", json!(2)),
            ("heap_gets", json!(-1)),
            ("suggestion_rule", json!([1])),
        ] {
            assert_eq!(errors(&wrong, &schema["properties"][name], &|_| None).len(), 1, "{name}");
        }
    }
}
