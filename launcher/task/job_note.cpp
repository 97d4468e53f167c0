// SPDX-License-Identifier: Apache-2.0
#include "launcher/task/job_note.hpp"

#include "launcher/task/request_fields.hpp"

namespace train {

void fields(auto& f, Described<JobNote> auto& note) {
  f.text("task", note.task);
  f.text("job", note.job);
  f.text("name", note.name);
  f.text("slots", note.slots);
  f.text("user", note.user);
  f.text("program", note.program);
  f.number("created", note.created, 0, INT64_MAX);
}

std::string encode_job_note(const JobNote& note) { return json_of_fields(note).dump() + "\n"; }

Result<JobNote> decode_job_note(std::string_view text) {
  JobNote note;
  const auto read =
      read_request(text, "the note of a job cannot be read: ", [&](const nlohmann::json& document) {
        note = struct_of_json<JobNote>(document);
      });
  if (!read) return tl::make_unexpected(read.error());
  return note;
}

}  // namespace train
