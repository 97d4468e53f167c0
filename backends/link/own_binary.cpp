// SPDX-License-Identifier: Apache-2.0
#include "backends/link/own_binary.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <openssl/sha.h>
#include <sys/utsname.h>
#include <zlib.h>

#include <array>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "backends/link/hexadecimal.hpp"

namespace train {

namespace {

constexpr std::uint64_t max_binary = 512u << 20;
// Level 3 takes a third of the time of the default for a tenth more bytes.
constexpr int gzip_level = 3;
constexpr int gzip_window = 15 + 16;

Result<std::string> read_binary(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = file ? static_cast<std::int64_t>(file.tellg()) : -1;
  if (size < 0 || static_cast<std::uint64_t>(size) > max_binary)
    return fail(ErrorClass::host, fmt::format("the binary {} cannot be read to ship it", path),
                "check that the file is still there");
  std::string bytes(static_cast<std::size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(bytes.data(), size))
    return fail(ErrorClass::host, fmt::format("the binary {} cannot be read to ship it", path),
                "check that the file is still there");
  return bytes;
}

std::string gzip(std::string& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, gzip_level, Z_DEFLATED, gzip_window, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    return {};
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int code = deflate(&stream, Z_FINISH);
  packed.resize(code == Z_STREAM_END ? stream.total_out : 0);
  deflateEnd(&stream);
  packed.shrink_to_fit();
  return packed;
}

std::string build_id_in_notes(const char* notes, std::size_t size) {
  const auto aligned = [](std::size_t value) { return (value + 3) & ~std::size_t{3}; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes, sizeof header);
    const std::size_t name = sizeof header, description = name + aligned(header.n_namesz);
    const std::size_t end = description + aligned(header.n_descsz);
    if (end > size) break;
    if (header.n_type == NT_GNU_BUILD_ID &&
        std::string_view(notes + name, header.n_namesz) == std::string_view("GNU\0", 4))
      return hexadecimal({notes + description, header.n_descsz});
    notes += end;
    size -= end;
  }
  return {};
}

// The first object that is reported is the program itself.
int find_build_id(dl_phdr_info* info, std::size_t, void* result) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
    std::string id = build_id_in_notes(notes, header.p_memsz);
    if (!id.empty()) *static_cast<std::string*>(result) = std::move(id);
  }
  return 1;
}

}  // namespace

Result<PackedBinary> pack_binary(const std::string& path) {
  auto bytes = read_binary(path);
  if (!bytes) return tl::make_unexpected(bytes.error());
  PackedBinary packed;
  packed.size = bytes->size();
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes->data()), bytes->size(), digest.data());
  packed.sha256 = hexadecimal({reinterpret_cast<const char*>(digest.data()), digest.size()});
  packed.bytes = gzip(*bytes);
  if (packed.bytes.empty())
    return fail(ErrorClass::host, fmt::format("the binary {} could not be packed", path),
                "free some memory");
  return packed;
}

std::string build_id_of_this_program() {
  std::string id;
  dl_iterate_phdr(find_build_id, &id);
  return id;
}

Result<ShippedBinary> running_binary() {
  ShippedBinary binary{"/proc/self/exe", build_id_of_this_program()};
  if (!binary.build_id.empty()) return binary;
  const auto packed = pack_binary(binary.path);
  if (!packed) return fail(ErrorClass::bug, "cannot read the running program from /proc/self/exe");
  binary.build_id = packed->sha256;
  return binary;
}

std::string machine_of_this_program() {
  utsname names{};
  return ::uname(&names) == 0 ? names.machine : "";
}

BinaryPacker::BinaryPacker(Loop& loop, std::string path) : loop_(loop), path_(std::move(path)) {}

BinaryPacker::~BinaryPacker() {
  if (thread_.joinable()) thread_.join();
}

void BinaryPacker::request(std::function<void(const Packed&)> on_ready) {
  state_->waiting.push_back(std::move(on_ready));
  const auto deliver = [weak = std::weak_ptr<State>(state_)] {
    const auto state = weak.lock();
    if (!state || !state->packed) return;
    for (const auto& callback : std::exchange(state->waiting, {})) callback(state->packed);
  };
  if (state_->packed) return loop_.post(deliver);
  if (thread_.joinable()) return;
  thread_ =
      std::thread([&loop = loop_, path = path_, weak = std::weak_ptr<State>(state_), deliver] {
        auto packed = std::make_shared<const Result<PackedBinary>>(pack_binary(path));
        loop.post([weak, packed, deliver] {
          if (const auto state = weak.lock()) state->packed = packed;
          deliver();
        });
      });
}

}  // namespace train
