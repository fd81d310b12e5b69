use conformance_programs::source::UnknownPlaceholder;
use serde_json::{Map, Value, json};

use super::open::Operator;
use super::template::{Configuration, Values, fill_value};
use crate::controller_spec::ControllerSpec;

impl Operator {
    /// Returns the enabled backends in spec order. Omits External, which only the reference operator has.
    pub(super) fn enabled(&self, spec: &ControllerSpec) -> Vec<String> {
        let profiles = spec.configuration["scheduler"]["profiles"].as_array().into_iter().flatten();
        let names = profiles.filter_map(|profile| profile["name"].as_str());
        names.filter(|name| self.description.backends.contains_key(*name)).map(str::to_owned).collect()
    }

    pub(super) fn configuration(
        &self,
        values: &Values,
        spec: &ControllerSpec,
    ) -> Result<Option<String>, UnknownPlaceholder> {
        let Some(configuration) = &self.description.configuration else { return Ok(None) };
        self.filled(configuration, values, spec).map(|content| Some(content.to_string()))
    }

    pub(super) fn filled(
        &self,
        configuration: &Configuration,
        values: &Values,
        spec: &ControllerSpec,
    ) -> Result<Value, UnknownPlaceholder> {
        let mut content = fill_value(&configuration.template, values)?;
        let list = configuration.profiles.as_ref().and_then(|pointer| content.pointer_mut(pointer));
        if let Some(Value::Array(profiles)) = list {
            profiles.extend(self.enabled(spec).iter().map(|backend| self.profile(backend)));
        }
        Ok(content)
    }

    fn profile(&self, backend: &str) -> Value {
        let described = self.description.backends.get(backend).and_then(|backend| backend.profile.clone());
        let mut profile = described.unwrap_or_default();
        profile.entry("name").or_insert_with(|| backend.into());
        let declared = self.declaration.as_ref().and_then(|declaration| declaration.backends.get(backend));
        for (name, value) in declared.map(|declared| &declared.configuration).into_iter().flatten() {
            let config = profile.entry("config").or_insert_with(|| json!(Map::new()));
            config[name.as_str()] = value.clone();
        }
        Value::Object(profile)
    }
}
