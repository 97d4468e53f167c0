// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/checkpoint_storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "config_schema/fields/field_table.hpp"
#include "config_schema/text/text.hpp"
#include "config_schema/yaml/yaml_writer.hpp"

namespace train {
namespace {

constexpr int restarts_of_determined = 5;

// Compares paths as text, without file system access.
std::vector<std::string> steps_of(std::string_view path) {
  std::vector<std::string> steps;
  for (const std::string_view step : split(path, '/')) {
    if (step.empty() || step == ".") continue;
    if (step == ".." && !steps.empty())
      steps.pop_back();
    else
      steps.emplace_back(step);
  }
  return steps;
}

class StorageReader {
 public:
  StorageReader(const FieldReader& fields, Diagnostics& diagnostics)
      : fields_(fields), diagnostics_(diagnostics) {}

  CheckpointStorage read() {
    CheckpointStorage storage;
    const GivenValue* whole = fields_.given("checkpoint_storage");
    const GivenValue* type = given("type");
    check_azure(type);
    if (!whole) return storage;
    if (!type) {
      diagnostics_.warn(whole->place, "checkpoint_storage",
                        "'checkpoint_storage' says no type, which Determined's master would know: "
                        "ranks get no folder for checkpoints",
                        "write 'type: shared_fs' and 'host_path: FOLDER'");
      return storage;
    }
    storage.directory = directory_of(*type);
    YamlNode given_keys;
    given_keys.kind = YamlKind::mapping;
    for (const Field* field : experiment_fields().children("checkpoint_storage")) {
      const GivenValue* value = fields_.given(field->path);
      if (!value) continue;
      given_keys.entries.push_back({std::string(leaf_of(field->path)), {}, value->node});
      storage.has_secrets = storage.has_secrets || field->is_secret;
    }
    storage.json = json_text(given_keys);
    return storage;
  }

 private:
  const GivenValue* given(const char* key) const {
    return fields_.given(fmt::format("checkpoint_storage.{}", key));
  }

  std::string directory_of(const GivenValue& type) {
    if (type.node->text == "shared_fs") return shared_directory();
    if (type.node->text != "directory") return {};
    const GivenValue* path = given("container_path");
    return path ? joined(steps_of(path->node->text)) : "";
  }

  std::string shared_directory() {
    const GivenValue* host = given("host_path");
    const GivenValue* storage = given("storage_path");
    if (!storage) storage = given("checkpoint_path");
    if (!host) return {};  // an error that was reported already
    const auto root = steps_of(host->node->text);
    auto steps = root;
    if (storage) {
      const bool is_absolute = storage->node->text.starts_with('/');
      steps = steps_of(is_absolute ? storage->node->text
                                   : host->node->text + "/" + storage->node->text);
      const bool is_inside =
          steps.size() >= root.size() && std::equal(root.begin(), root.end(), steps.begin());
      if (!is_inside)
        report(
            *storage,
            fmt::format("'{}: {}' is not inside 'host_path: {}' {}", leaf_of(storage->field->path),
                        storage->node->text, host->node->text, line_or_flag(host->place)),
            "write a path relative to host_path");
    }
    return joined(steps);
  }

  static std::string joined(const std::vector<std::string>& steps) {
    return fmt::format("/{}", fmt::join(steps, "/"));
  }

  void check_azure(const GivenValue* type) {
    if (!type || type->node->text != "azure") return;
    const GivenValue* connection = given("connection_string");
    for (const char* key : {"account_url", "credential"}) {
      const GivenValue* other = given(key);
      if (connection && other)
        report(*other,
               fmt::format("'{}' cannot be given with 'connection_string' {}", key,
                           line_or_flag(connection->place)),
               "keep one of the two");
    }
    const GivenValue* credential = given("credential");
    if (credential && !connection && !given("account_url"))
      report(*credential, "'credential' needs 'account_url'", "write account_url");
  }

  void report(const GivenValue& value, std::string message, std::string hint) {
    diagnostics_.error(value.place, std::string(value.field->path), std::move(message),
                       std::move(hint));
  }

  const FieldReader& fields_;
  Diagnostics& diagnostics_;
};

}  // namespace

void read_checkpoint_storage(const FieldReader& fields, Diagnostics& diagnostics,
                             ExperimentConfig& config) {
  config.checkpoints = StorageReader(fields, diagnostics).read();
  if (fields.wrote("checkpoint_storage") && !fields.given("max_restarts"))
    config.max_restarts = restarts_of_determined;
}

}  // namespace train
