//! The pieces of which our JSON schemas are made, and the check of a value against a schema.
//!
//! A schema is JSON Schema's 2020-12 form, with few of its words: those that [`errors`] knows. Readers must ignore unknown keys: within
//! one version of a schema, keys are only added.
//!
//! Invariant: a key that a schema does not describe is an error, so no key is written without a description.
//! Not here: the schemas. Each is next to the type that it describes.

use serde_json::{Map, Value, json};

/// A text.
#[must_use]
pub fn text(what: &str) -> Value {
    json!({"type": "string", "description": what})
}

/// A text that may be null.
#[must_use]
pub fn text_or_null(what: &str) -> Value {
    json!({"type": ["string", "null"], "description": what})
}

/// A count, or bytes, or nanoseconds.
#[must_use]
pub fn integer(what: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": what})
}

/// The same, or null.
#[must_use]
pub fn integer_or_null(what: &str) -> Value {
    json!({"type": ["integer", "null"], "minimum": 0, "description": what})
}

/// Any number.
#[must_use]
pub fn number(what: &str) -> Value {
    json!({"type": "number", "description": what})
}

/// True or false.
#[must_use]
pub fn switch(what: &str) -> Value {
    json!({"type": "boolean", "description": what})
}

/// A list.
#[must_use]
pub fn list(what: &str, items: &Value) -> Value {
    json!({"type": "array", "description": what, "items": items})
}

/// An object that always has all of these keys.
#[must_use]
pub fn object(what: &str, properties: Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    json!({"type": "object", "description": what, "required": required, "properties": properties})
}

/// Makes a key of an object optional.
pub fn not_required(object: &mut Value, key: &str) {
    if let Some(keys) = object["required"].as_array_mut() {
        keys.retain(|required| required != key);
    }
}

/// The schema of a whole document, with the name of its file.
#[must_use]
pub fn document(file: &str, mut root: Value) -> Value {
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["$id"] = json!(file);
    root
}

/// The errors in a value. `other` finds the schema of another file to which this one refers.
#[must_use]
pub fn errors(value: &Value, schema: &Value, other: &dyn Fn(&str) -> Option<Value>) -> Vec<String> {
    let mut check = Check { root: schema, other, wrong: Vec::new() };
    check.value(value, schema, "value");
    check.wrong
}

struct Check<'a> {
    /// The document in which references without a file point.
    root: &'a Value,
    other: &'a dyn Fn(&str) -> Option<Value>,
    wrong: Vec<String>,
}

impl Check<'_> {
    fn value(&mut self, value: &Value, schema: &Value, path: &str) {
        if let Some(reference) = schema["$ref"].as_str() {
            return self.referred(value, reference, path);
        }
        if let Some(ways) = schema["anyOf"].as_array() {
            let fits = |way: &Value| {
                let mut check = Check { root: self.root, other: self.other, wrong: Vec::new() };
                check.value(value, way, path);
                check.wrong.is_empty()
            };
            if !ways.iter().any(fits) {
                self.wrong.push(format!("{path} is none of what it may be: {value}"));
            }
            return;
        }
        if !is_of(value, schema) {
            self.wrong.push(format!("{path} is {value}"));
        }
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if value.is_object() && value.get(key).is_none() {
                self.wrong.push(format!("{path} lacks {key}"));
            }
        }
        let has_keys = schema.get("properties").or(schema.get("additionalProperties")).is_some();
        for (key, inner) in value.as_object().into_iter().flatten().filter(|_| has_keys) {
            let further =
                schema.get("additionalProperties").filter(|_| is_named(key, &schema["propertyNames"]));
            match schema["properties"].get(key).or(further) {
                Some(described) => self.value(inner, described, &format!("{path}.{key}")),
                None => self.wrong.push(format!("{path}.{key} is not described")),
            }
        }
        for (at, inner) in value.as_array().into_iter().flatten().enumerate() {
            self.value(inner, &schema["items"], &format!("{path}[{at}]"));
        }
    }

    fn referred(&mut self, value: &Value, reference: &str, path: &str) {
        if let Some(inside) = reference.strip_prefix('#') {
            return match self.root.pointer(inside) {
                Some(definition) => self.value(value, definition, path),
                None => self.wrong.push(format!("{path}: there is no {reference}")),
            };
        }
        match (self.other)(reference) {
            Some(root) => {
                let mut check = Check { root: &root, other: self.other, wrong: Vec::new() };
                check.value(value, &root, path);
                self.wrong.append(&mut check.wrong);
            }
            None => self.wrong.push(format!("{path}: there is no {reference}")),
        }
    }
}

/// Is a value of the kind that a schema names, and within its limits? What is in it is not looked at.
fn is_of(value: &Value, schema: &Value) -> bool {
    let is_kind = |kind: &str| match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => kind == "object" && value.is_object(),
    };
    let kinds = match &schema["type"] {
        Value::Null => true,
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).any(is_kind),
        kind => kind.as_str().is_some_and(is_kind),
    };
    let limit = |name: &str, is_beyond: fn(f64, f64) -> bool| {
        let ends = value.as_f64().zip(schema[name].as_f64());
        ends.is_none_or(|(value, limit)| !is_beyond(value, limit))
    };
    kinds
        && schema.get("const").is_none_or(|fixed| fixed == value)
        && schema["enum"].as_array().is_none_or(|all| all.contains(value))
        && limit("minimum", |value, least| value < least)
        && limit("maximum", |value, most| value > most)
}

/// Does a key match the pattern of further keys: `^BEGINNING[0-9]+$`, or none?
fn is_named(key: &str, names: &Value) -> bool {
    let Some(pattern) = names["pattern"].as_str() else { return true };
    let begin = pattern.strip_prefix('^').and_then(|rest| rest.strip_suffix("[0-9]+$"));
    begin
        .and_then(|begin| key.strip_prefix(begin))
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        let mut one = object(
            "All kinds.",
            json!({
                "text": text("A text."),
                "perhaps": text_or_null("A text or null."),
                "count": integer("A count."),
                "least": integer_or_null("A count or null."),
                "share": {"type": "number", "minimum": 0, "maximum": 100},
                "is_on": switch("A switch."),
                "all": list("Counts.", &integer("One.")),
                "kind": {"enum": ["a", "b"]},
                "sizes": {
                    "type": "object",
                    "propertyNames": {"pattern": "^up_to_[0-9]+$"},
                    "additionalProperties": integer("Requests."),
                },
                "own": {"$ref": "#/$defs/own"},
                "other": {"anyOf": [{"$ref": "other.json"}, {"type": "null"}]},
                "later": text("A key of a later version."),
            }),
        );
        not_required(&mut one, "later");
        one["$defs"] = json!({"own": text("A definition.")});
        document("one.json", one)
    }

    fn wrong(value: &Value) -> Vec<String> {
        errors(value, &schema(), &|file| (file == "other.json").then(|| integer("A count.")))
    }

    #[test]
    fn what_a_schema_allows_is_right_and_all_else_is_wrong() {
        let good = json!({
            "text": "x", "perhaps": null, "count": 1, "least": null, "share": 99.5, "is_on": true, "all": [1, 2],
            "kind": "a", "sizes": {"up_to_8": 1}, "own": "x", "other": 3,
        });
        assert_eq!(wrong(&good), [""; 0]);
        for (pointer, value) in [
            ("/text", json!(null)),
            ("/perhaps", json!(1)),
            ("/count", json!(-1)),
            ("/count", json!(1.5)),
            ("/share", json!(101)),
            ("/is_on", json!("true")),
            ("/all/1", json!("2")),
            ("/kind", json!("c")),
            ("/sizes", json!({"up_to_": 1})),
            ("/sizes", json!({"from_8": 1})),
            ("/own", json!(7)),
            ("/other", json!("7")),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(pointer).expect(pointer) = value;
            assert_eq!(wrong(&bad).len(), 1, "{pointer}: {:?}", wrong(&bad));
        }
        let mut bad = good.clone();
        bad["unknown"] = json!(1);
        assert_eq!(wrong(&bad), ["value.unknown is not described"]);
        bad.as_object_mut().expect("an object").retain(|key, _| key != "unknown" && key != "kind");
        assert_eq!(wrong(&bad), ["value lacks kind"]);
    }
}
