// SPDX-License-Identifier: Apache-2.0
#include "launcher/talks/get_talk.hpp"

#include <fmt/format.h>

#include "launcher/frames/fields.hpp"

namespace train {

using nlohmann::json;

namespace get_talk {

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::file:
      return "file";
    case Kind::folder:
      return "folder";
    case Kind::link:
      return "link";
  }
  return "file";
}

bool is_same(const Identity& one, const Identity& other) {
  if (!one.born.empty() && !other.born.empty()) return one.born == other.born;
  return !one.changed.empty() && one.changed == other.changed;
}

}  // namespace get_talk

namespace {

using namespace get_talk;

constexpr std::size_t longest_name = 255;
constexpr std::size_t longest_identity = 64;
constexpr std::size_t longest_reason = 2 * longest_get_path;
constexpr int highest_mode = 0777;
constexpr std::size_t frame_header = 5;
constexpr std::string_view part_prefix = ".train-get.";
constexpr std::size_t part_digits = 16;

bool has_nul(std::string_view text) { return text.find('\0') != text.npos; }

void path(auto& f, const char* name, Described<std::string> auto& path) {
  f.text(name, path, longest_get_path);
  f.check([&] { return !has_nul(path); }, "a path with a NUL");
}

void kind(auto& f, Described<Kind> auto& kind) {
  f.choice("kind", kind, {Kind::file, Kind::folder, Kind::link}, "a kind that there is not");
}

}  // namespace

namespace get_talk {

void fields(auto& f, Described<Start> auto& start) {
  path(f, "path", start.path);
  path(f, "directory", start.directory);
  f.flag("in_context", start.in_context);
  f.check([&] { return !start.path.empty(); }, "a path that is empty");
}
void fields(auto& f, Described<Taken> auto& taken) { f.number("bytes", taken.bytes); }
void fields(auto&, Described<Alive> auto&) {}
void fields(auto& f, Described<Found> auto& found) {
  kind(f, found.kind);
  path(f, "path", found.path);
  f.number("mode", found.mode, 0, highest_mode);
  f.number("size", found.size);
  f.text("born", found.identity.born, longest_identity);
  f.text("changed", found.identity.changed, longest_identity);
  f.check([&] { return found.kind != Kind::link; }, "a link in place of what it leads to");
  f.check([&] { return found.kind == Kind::file || found.size == 0; }, "the size of no file");
}
void fields(auto& f, Described<Entry> auto& entry) {
  kind(f, entry.kind);
  f.text("name", entry.name, longest_name);
  f.check([&] { return is_entry_name(entry.name); }, "a name that leaves its folder");
  if (entry.kind == Kind::link) {
    path(f, "target", entry.target);
    f.check([&] { return !entry.target.empty(); }, "a link that leads nowhere");
  } else {
    f.number("mode", entry.mode, 0, highest_mode);
  }
  if (entry.kind == Kind::file) f.number("size", entry.size);
}
void fields(auto& f, Described<FileEnd> auto& end) { f.flag("whole", end.is_whole); }
void fields(auto&, Described<FolderEnd> auto&) {}
void fields(auto& f, Described<Trouble> auto& trouble) {
  path(f, "path", trouble.path);
  f.text("why", trouble.why, longest_reason);
  f.flag("loss", trouble.is_loss);
}
void fields(auto& f, Described<End> auto& end) {
  f.optional("refusal", !end.refusal.empty(), [&] {
    f.text("refusal", end.refusal, longest_reason);
    f.text("hint", end.hint, longest_reason);
    f.check([&] { return !end.refusal.empty(); }, "a refusal without a reason");
  });
}

}  // namespace get_talk

namespace {

constexpr std::tuple names{
    Named<Start>{"start"},          Named<Taken>{"taken"},     Named<Alive>{"alive"},
    Named<Found>{"found"},          Named<Entry>{"entry"},     Named<FileEnd>{"file_end"},
    Named<FolderEnd>{"folder_end"}, Named<Trouble>{"trouble"}, Named<End>{"end"}};

tl::unexpected<Error> out_of_order(std::string what) {
  return tl::make_unexpected(not_our_protocol("sent " + std::move(what)));
}

}  // namespace

bool is_entry_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_name && name != "." && name != ".." &&
         name.find('/') == name.npos && !has_nul(name);
}

std::string get_part_name(std::uint64_t random_bits) {
  return fmt::format("{}{:016x}", part_prefix, random_bits);
}

bool is_get_part(std::string_view name) {
  return name.starts_with(part_prefix) && name.size() == part_prefix.size() + part_digits &&
         name.find_first_not_of("0123456789abcdef", part_prefix.size()) == name.npos;
}

std::string encode_get(const GetMessage& message) {
  return encode_frame(FrameKind::control, json_of_variant(message, "type", names).dump());
}

Result<GetMessage> decode_get(std::string_view payload) {
  return decode_document<GetMessage>(
      payload, max_control_payload, "what is said of files is not understood",
      [](const json& value) { return variant_of_json<GetMessage>(value, "type", names); });
}

std::uint64_t get_frame_size(std::string_view payload) { return frame_header + payload.size(); }

Result<void> GetOrder::begin(Kind kind, std::uint64_t size) {
  if (kind == Kind::file) {
    is_file_open_ = true;
    is_file_in_trouble_ = false;
    left_ = size;
  }
  if (kind != Kind::folder) return {};
  if (++open_folders_ > deepest_get_folder + 1) return out_of_order("a folder that lies too deep");
  return {};
}

Result<void> GetOrder::take(const GetMessage& message) {
  if (is_over_) return out_of_order("something after the end");
  if (std::holds_alternative<Alive>(message)) return {};
  if (const auto* found = std::get_if<Found>(&message)) {
    if (has_found_) return out_of_order("a second beginning");
    has_found_ = true;
    return begin(found->kind, found->size);
  }
  if (const auto* end = std::get_if<End>(&message)) {
    const bool is_complete = has_found_ && !is_file_open_ && open_folders_ == 0;
    if (end->refusal.empty() ? !is_complete : has_found_) return out_of_order("an early end");
    is_over_ = true;
    return {};
  }
  if (!has_found_) return out_of_order("something before the beginning");
  if (const auto* trouble = std::get_if<Trouble>(&message)) {
    if (trouble->is_loss) is_file_in_trouble_ = true;
    return {};
  }
  if (const auto* end = std::get_if<FileEnd>(&message)) {
    if (!is_file_open_) return out_of_order("the end of no file");
    if (end->is_whole == is_file_in_trouble_)
      return out_of_order("a file that is whole and is not");
    if (end->is_whole && left_ > 0) return out_of_order("less of a file than it has");
    is_file_open_ = false;
    return {};
  }
  const bool is_in_folder = open_folders_ > 0 && !is_file_open_;
  if (std::holds_alternative<FolderEnd>(message)) {
    if (!is_in_folder) return out_of_order("the end of no folder");
    --open_folders_;
    return {};
  }
  const auto* entry = std::get_if<Entry>(&message);
  if (entry == nullptr || !is_in_folder) return out_of_order("something that is in no folder");
  if (++entries_ > most_get_entries)
    return fail(ErrorClass::host, fmt::format("it has more than {} entries", most_get_entries),
                "get the folders in it one by one");
  return begin(entry->kind, entry->size);
}

Result<void> GetOrder::take_content(std::size_t bytes) {
  if (is_over_ || !is_file_open_) return out_of_order("content of no file");
  if (bytes == 0 || bytes > left_) return out_of_order("another amount of a file than it has");
  left_ -= bytes;
  return {};
}

}  // namespace train
