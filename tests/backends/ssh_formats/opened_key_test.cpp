// SPDX-License-Identifier: Apache-2.0
// What a passphrase has opened, as it lies in memory.
#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <sstream>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "backends/ssh_formats/evp_key.hpp"
#include "backends/ssh_formats/locked_bytes.hpp"
#include "backends/ssh_formats/private_key_file.hpp"
#include "backends/ssh_formats/wire_encoding.hpp"
#include "tests/backends/ssh_formats/temporary_keys.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace train::testing;

namespace {

struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  std::string access;
  std::string flags;  ///< " rd wr mr ... "
};

std::vector<Mapping> mappings() {
  std::vector<Mapping> all;
  std::istringstream lines(read_file("/proc/self/smaps"));
  for (std::string line; std::getline(lines, line);) {
    Mapping mapping;
    char access[5] = {};
    if (line.starts_with("VmFlags:"))
      all.back().flags = line.substr(8) + " ";
    else if (std::sscanf(line.c_str(), "%lx-%lx %4s", &mapping.begin, &mapping.end, access) == 3) {
      mapping.access = access;
      all.push_back(mapping);
    }
  }
  return all;
}

// The sanitizers make mlock(2) a call that does nothing.
bool is_locked([[maybe_unused]] const Mapping& mapping) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return mapping.flags.find(" lo ") != std::string::npos;
#endif
}
bool is_in_cores(const Mapping& mapping) { return mapping.flags.find(" dd ") == std::string::npos; }

// What is looked for is nowhere in this process as it is: only with every byte changed.
constexpr unsigned char mask = 0x5c;
using Needle = std::vector<unsigned char>;

// The number `index` of the private section of a key without a passphrase, behind its type, read by
// another process.
Needle masked_secret(const std::string& path, int index) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const pid_t reader = ::fork();
  if (reader == 0) {
    const std::string text = read_file(path);
    const std::size_t begin = text.find('\n') + 1;
    const std::string bytes =
        base64_decode(text.substr(begin, text.find("-----END") - begin)).value_or("");
    WireReader file(std::string_view(bytes).substr(15));
    for (int i = 0; i < 3; ++i) file.string();
    file.number();
    file.string();
    WireReader section(file.string().value_or(""));
    section.number(), section.number(), section.string();
    std::string secret;
    for (int i = 0; i <= index; ++i) secret = section.string().value_or("");
    for (char& byte : secret) byte = static_cast<char>(byte ^ mask);
    (void)!::write(ends[1], secret.data(), secret.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  Needle needle(1024);
  const ssize_t size = ::read(ends[0], needle.data(), needle.size());
  ::close(ends[0]);
  ::waitpid(reader, nullptr, 0);
  needle.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return needle;
}

// Where these bytes, each changed by the mask, are in the memory of this process.
std::vector<Mapping> places_of(const Needle& needle) {
  constexpr std::size_t piece = 1u << 20;
  void* const buffer =
      ::mmap(nullptr, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(buffer != MAP_FAILED);
  auto* const bytes = static_cast<unsigned char*>(buffer);
  const Descriptor memory(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
  REQUIRE(memory);
  std::vector<Mapping> found;
  const auto is_here = [&](std::size_t count) {
    return std::search(bytes, bytes + count, needle.begin(), needle.end(),
                       [](unsigned char there, unsigned char wanted) {
                         return there == static_cast<unsigned char>(wanted ^ mask);
                       }) != bytes + count;
  };
  constexpr std::size_t huge = std::size_t{1} << 32;  // the shadow memory of sanitizers
  const auto own = reinterpret_cast<std::uintptr_t>(buffer);
  for (const Mapping& mapping : mappings()) {
    if (!mapping.access.starts_with("rw") || mapping.end - mapping.begin > huge) continue;
    for (std::uintptr_t at = mapping.begin; at < mapping.end; at += piece - needle.size()) {
      if (at <= own && own < at + piece) break;  // what was read before
      const std::size_t size = std::min<std::uintptr_t>(piece, mapping.end - at);
      const ssize_t count = ::pread(memory.get(), bytes, size, static_cast<off_t>(at));
      if (count <= 0) break;
      if (!is_here(static_cast<std::size_t>(count))) continue;
      found.push_back(mapping);
      break;
    }
  }
  ::explicit_bzero(buffer, piece);
  ::munmap(buffer, piece);
  return found;
}

struct Case {
  const char* flags;
  int index;  ///< of a secret number in the private section
};
constexpr Case cases[] = {{"-t ed25519", 1},       {"-t ecdsa -b 256", 2},
                          {"-t ecdsa -b 521", 2},  {"-t rsa -b 3072", 2},
                          {"-t rsa -b 3072", 4},   {"-t rsa -b 2048 -m PEM", 4},
                          {"-t ecdsa -m PKCS8", 2}};

}  // namespace

TEST_CASE("locked bytes are zeros in pages that are locked, in no core, and empty after a fork") {
  LockedBytes bytes(100);
  REQUIRE(bytes.view().size() == 100);
  CHECK(std::count(bytes.view().begin(), bytes.view().end(), '\0') == 100);
  bytes.bytes()[99] = 'x';
  const auto at = reinterpret_cast<std::uintptr_t>(bytes.view().data());
  const auto all = mappings();
  const auto own = std::find_if(all.begin(), all.end(), [at](const Mapping& mapping) {
    return mapping.begin <= at && at < mapping.end;
  });
  REQUIRE(own != all.end());
  CHECK(is_locked(*own));
  CHECK_FALSE(is_in_cores(*own));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(bytes.view()[99] == '\0' ? 0 : 1);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  LockedBytes other = std::move(bytes);
  CHECK(other.view()[99] == 'x');
  CHECK(LockedBytes(0).view().empty());
}

// Its decoders copy keys into memory that they free as it is.
TEST_CASE("what OpenSSL gives back to the heap is zeros") {
  CHECK(make_ed25519_key(std::string(32, 'k')));
  constexpr std::size_t size = 1500;
  constexpr std::size_t at = 256;  // behind what the heap keeps in free blocks
  Needle needle(64);
  for (std::size_t i = 0; i < needle.size(); ++i)
    needle[i] = static_cast<unsigned char>(17 * i + 3);
  // So many, with others between them, that not all are taken again at once.
  std::vector<unsigned char*> blocks;
  std::vector<std::unique_ptr<char[]>> others;
  for (int i = 0; i < 300; ++i) {
    blocks.push_back(static_cast<unsigned char*>(OPENSSL_malloc(size)));
    others.emplace_back(new char[20]);
    REQUIRE(blocks.back());
    for (std::size_t byte = 0; byte < needle.size(); ++byte)
      blocks.back()[at + byte] = needle[byte] ^ mask;
  }
  CHECK_FALSE(places_of(needle).empty());
  std::size_t moved_to = 0;
  SECTION("freed") {}
  SECTION("made larger") { moved_to = 3000; }
  SECTION("made smaller") { moved_to = 16; }
  for (unsigned char*& block : blocks) {
    if (moved_to > 0) block = static_cast<unsigned char*>(OPENSSL_realloc(block, moved_to));
    REQUIRE(block);
    if (moved_to <= size) continue;
    REQUIRE(std::equal(needle.begin(), needle.end(), block + at,
                       [](unsigned char a, unsigned char b) { return a == (b ^ mask); }));
    OPENSSL_cleanse(block, moved_to);
  }
  if (moved_to > 0) CHECK(places_of(needle).empty());
  for (unsigned char* block : blocks) OPENSSL_free(block);
  CHECK(places_of(needle).empty());
  CHECK(OPENSSL_realloc(OPENSSL_malloc(16), 0) == nullptr);
}

TEST_CASE("what a passphrase has opened is in locked memory that is in no core, and nowhere else") {
  TemporaryFolder folder;
  const std::atomic<bool> goes_on{false};
  int number = 0;
  for (const Case& one : cases) {
    CAPTURE(one.flags, one.index);
    const bool is_pem = std::string(one.flags).find(" -m ") != std::string::npos;
    // The same key as OpenSSH writes it, without a passphrase, for the other process.
    const auto name = folder.path() / std::to_string(++number);
    const std::string path = make_key(name, one.flags);
    const std::string plain = name.string() + ".plain";
    output_of("cp -p " + path + " " + plain + "; ssh-keygen -q -p -P '' -N '' -f " + plain);
    output_of("ssh-keygen -q -p -P '' -N 'open sesame' -f " + path + (is_pem ? " -m PEM" : ""));
    Needle needle = masked_secret(plain, one.index);
    REQUIRE(needle.size() >= 31);
    if (needle.front() == mask) needle.erase(needle.begin());  // a zero before a number
    needle.resize(std::min<std::size_t>(needle.size(), 32));
    CHECK(places_of(needle).empty());

    std::shared_ptr<SigningKey> key;
    {
      const Secret right("open sesame");
      const KeyOpening opening{right, goes_on};
      const auto loaded = load_private_key(path, "the key", &opening);
      REQUIRE(loaded);
      REQUIRE(*loaded);
      key = *loaded;
    }
    for (const std::string& algorithm : signature_algorithms(key_type(key->public_blob())))
      for (int i = 0; i < 3; ++i) CHECK(key->sign("data", algorithm));
    const auto places = places_of(needle);
    CHECK(places.size() == 1);
    for (const Mapping& place : places) {
      CHECK(is_locked(place));
      CHECK_FALSE(is_in_cores(place));
    }
    // As OpenSSL has a number: the lowest byte first.
    Needle reversed(needle.rbegin(), needle.rend());
    CHECK(places_of(reversed).empty());
    key.reset();
    CHECK(places_of(needle).empty());
  }
}
