// SPDX-License-Identifier: Apache-2.0
#include "launcher/frames/fields.hpp"

#include "tests/catch.hpp"

namespace train {

namespace {

enum class Color { red, green, blue };

const char* to_string(Color color) {
  return color == Color::red ? "red" : color == Color::green ? "green" : "blue";
}

struct Point {
  int x = 0;
  bool operator==(const Point&) const = default;
};

struct Drawing {
  std::string name = {};
  std::string note = {};
  std::string words = {};
  std::optional<std::string> title = {};
  bool is_open = false;
  std::optional<bool> is_old = {};
  Color color = Color::red;
  std::optional<Color> frame = {};
  Color back = Color::red;
  std::vector<Color> palette = {};
  std::uint64_t size = 0;
  std::optional<int> page = {};
  std::chrono::milliseconds age{0};
  Instant at{0};
  std::vector<int> numbers = {};
  std::vector<std::string> texts = {};
  std::vector<std::string> remarks = {};
  Point begin = {};
  std::optional<Point> end = {};
  std::vector<Point> points = {};
  std::optional<std::vector<Point>> holes = {};
  std::vector<Point> few = {};
  double weight = 0;
  std::vector<Point> packed = {};

  bool operator==(const Drawing&) const = default;
};

struct Nothing {
  bool operator==(const Nothing&) const = default;
};

using nlohmann::json;
using Either = std::variant<Point, Nothing>;
constexpr std::tuple names{Named<Point>{"point"}, Named<Nothing>{"nothing"}};

}  // namespace

void fields(auto& f, Described<Point> auto& point) {
  f.number("x", point.x, -5, 5);
  f.check([&] { return point.x != 3; }, "three");
}

void fields(auto&, Described<Nothing> auto&) {}

void fields(auto& f, Described<Drawing> auto& d) {
  f.text("name", d.name, 10);
  f.optional_text("note", d.note, 10);
  f.words("words", d.words, 40);
  f.text("title", d.title);
  f.flag("open", d.is_open);
  f.flag("old", d.is_old);
  f.choice("color", d.color, {Color::red, Color::green}, "no color");
  f.choice("frame", d.frame, {Color::red, Color::green}, "no color");
  f.number_of("back", d.back, Color::blue);
  f.numbers_of("palette", d.palette, Color::green, 3);
  f.number("size", d.size);
  f.number("page", d.page, 1, 9);
  f.duration("age_ms", d.age, 0, 100);
  f.instant("at", d.at);
  f.numbers("numbers", d.numbers, 0, 9, 3);
  f.texts("texts", d.texts, 2, 5);
  f.cut_texts("remarks", d.remarks, 2, 40);
  f.object("begin", d.begin);
  f.object("end", d.end);
  f.list("points", d.points, 2);
  f.list("holes", d.holes, 2);
  f.group("more", [&](auto& more) { more.cut_list("few", d.few, 2); });
  f.value_as(
      "weight", d.weight, [](double weight) { return weight; },
      [](const json& value) { return value.get<double>(); });
  f.optional("packed", !d.packed.empty(), [&] {
    f.list_as(
        "packed", d.packed, 2, [](const Point& point) { return json(point.x); },
        [](const json& value) { return Point{value.get<int>()}; });
  });
}

}  // namespace train

using namespace train;

namespace {

Drawing full() {
  return {.name = "a\xff",
          .note = "b",
          .words = "c",
          .title = "",
          .is_open = true,
          .is_old = false,
          .color = Color::green,
          .frame = Color::red,
          .back = Color::blue,
          .palette = {Color::green, Color::red},
          .size = 7,
          .page = 2,
          .age = std::chrono::milliseconds(100),
          .at = Instant(5),
          .numbers = {9, 0},
          .texts = {"x", ""},
          .remarks = {"y"},
          .begin = {-5},
          .end = Point{5},
          .points = {{1}, {2}},
          .holes = std::vector<Point>(),
          .few = {{4}},
          .weight = 0.5,
          .packed = {{1}}};
}

bool is_refused(json value) {
  try {
    (void)struct_of_json<Drawing>(value);
  } catch (const Malformed&) {
    return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a struct that is described once is written and read back") {
  for (const Drawing& drawing : {Drawing(), full()}) {
    const json value = json_of_fields(drawing);
    INFO(value.dump());
    CHECK(struct_of_json<Drawing>(value) == drawing);
  }
}

TEST_CASE("what is not there is not written, and every other field must be there") {
  const json empty = json_of_fields(Drawing());
  for (const char* name : {"note", "title", "old", "frame", "page", "end", "holes", "packed"})
    CHECK_FALSE(empty.contains(name));
  for (const auto& [name, value] : empty.items()) {
    json part = empty;
    part.erase(name);
    INFO(name);
    CHECK(is_refused(part));
  }
}

TEST_CASE("a reader refuses what is out of bounds") {
  const json patches[] = {
      {{"name", "12345678901"}},
      {{"name", 1}},
      {{"note", "12345678901"}},
      {{"words", std::string(41, 'x')}},
      {{"title", 1}},
      {{"open", 1}},
      {{"old", "yes"}},
      {{"color", "blue"}},
      {{"frame", "blue"}},
      {{"back", 3}},
      {{"palette", {2}}},
      {{"palette", {0, 0, 0, 0}}},
      {{"size", -1}},
      {{"page", 0}},
      {{"page", 10}},
      {{"age_ms", 101}},
      {{"at", -1}},
      {{"numbers", {10}}},
      {{"numbers", {1, 2, 3, 4}}},
      {{"texts", {"a", "b", "c"}}},
      {{"texts", {"123456"}}},
      {{"remarks", {"a", "b", "c"}}},
      {{"begin", {{"x", 6}}}},
      {{"begin", {{"x", 3}}}},
      {{"begin", 1}},
      {{"end", {{"x", 6}}}},
      {{"points", {1}}},
      {{"points", json::array({{{"x", 3}}})}},
      {{"holes", {{"x", 1}}}},
      {{"more", 1}},
      {{"packed", {1, 2, 3}}},
      {{"more", {{"few", 1}}}},
  };
  CHECK_FALSE(is_refused(json_of_fields(full())));
  for (const json& patch : patches) {
    json value = json_of_fields(full());
    value.update(patch);
    INFO(patch.dump());
    CHECK(is_refused(value));
  }
  for (const json& other : {json(), json(1), json::array(), json("x")}) CHECK(is_refused(other));
}

TEST_CASE("words to people are cut, and lists of them, but nothing else") {
  Drawing drawing;
  drawing.words = "begin" + std::string(1'000, 'x') + "end";
  drawing.remarks = {drawing.words, "b", "c"};
  drawing.few = {{1}, {2}, {4}};
  const Drawing back = struct_of_json<Drawing>(json_of_fields(drawing));
  CHECK(back.words == cut_to_json(drawing.words, 40));
  CHECK(back.remarks == std::vector<std::string>{back.words, "b"});
  CHECK(back.few == std::vector<Point>{{1}, {2}});
  drawing.name = drawing.words;
  CHECK(is_refused(json_of_fields(drawing)));
}

TEST_CASE("of several structs the right one is read") {
  for (const Either& one : {Either(Point{4}), Either(Nothing())})
    CHECK(variant_of_json<Either>(json_of_variant(one, "type", names), "type", names) == one);
  CHECK(json_of_variant(Either(Point{4}), "type", names) == json{{"type", "point"}, {"x", 4}});
  for (const json& other : {json{{"type", "line"}}, json{{"x", 1}}, json{{"type", 1}},
                            json{{"type", "point"}}, json{{"type", "point"}, {"x", 3}}})
    CHECK_THROWS_AS(variant_of_json<Either>(other, "type", names), Malformed);
}
