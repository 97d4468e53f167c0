// SPDX-License-Identifier: Apache-2.0
// What the words of a picture are; tests/browser looks at how it is drawn.
#include "launcher/picture/picture_svg.hpp"

#include <regex>

#include "config_schema/text/text.hpp"
#include "launcher/formats/formats.hpp"
#include "launcher/picture/svg_writer.hpp"
#include "tests/launcher/picture/scene.hpp"
#include "tests/launcher/picture/svg_markup.hpp"

using namespace train;

namespace {

int slots_in(const std::string& svg) {
  const std::regex form("data-slots=\"([0-9]+)\"");
  int slots = 0;
  for (std::sregex_iterator match(svg.begin(), svg.end(), form), end; match != end; ++match)
    slots += std::stoi((*match)[1]);
  return slots;
}

}  // namespace

TEST_CASE("a picture has a cell for every slot of the rows that it shows") {
  Scene scene = scene_of(gpu_experiment(3, 2), gpu_inventory({8, 8, 8, 3}));
  scene.occupancy = {use_of("n2", "a", {1, 2}, 0.5)};
  const std::string svg = plan_to_svg(scene.subject());
  CHECK(slots_in(svg) == 8 + 8 + 8 + 3);
  CHECK(is_well_formed(svg));
}

TEST_CASE("hosts of any size are drawn, the widest in proportion") {
  for (const int slots : {1, 17, 256, 257, 60'000}) {
    CAPTURE(slots);
    const std::string svg =
        plan_to_svg(scene_of(slot_experiment(1), gpu_inventory({slots})).subject());
    CHECK(slots_in(svg) == slots);
    CHECK(svg.size() < 200'000);
  }
}

TEST_CASE("what users wrote is text and nothing else") {
  Scene scene = scene_of(slot_experiment(1), gpu_inventory({2, 3}));
  scene.plan.experiment.name = "<script>alert('&')</script>\xff\x1b";
  scene.occupancy = {use_of("n2", "</text><a href=\"x\">", {0})};
  const std::string svg = plan_to_svg(scene.subject());
  CHECK(is_well_formed(svg));
  CHECK_FALSE(find_text_fault(svg));
  CHECK(svg.find("<script") == svg.npos);
  CHECK(svg.find("<a ") == svg.npos);
  CHECK(svg.find("&lt;script&gt;alert('&amp;')&lt;/script&gt;\\xff\\x1b: 1 rank") != svg.npos);
}

TEST_CASE("a picture needs nothing from elsewhere") {
  const std::string svg = plan_to_svg(scene_of(slot_experiment(1), gpu_inventory({1})).subject());
  CHECK(svg.find("http") == svg.rfind("http"));  // the name of the format, and no address
  CHECK(svg.find("@import") == svg.npos);
  CHECK(svg.find("@font-face") == svg.npos);
}

TEST_CASE("XML holds no bytes that it forbids") {
  CHECK(xml_text("a<b>&\"") == "a&lt;b&gt;&amp;&quot;");
  CHECK(xml_text("\xf0\x9f\x9a\x80 \xe5\xae\x9f") == "\xf0\x9f\x9a\x80 \xe5\xae\x9f");
  CHECK(xml_text("\xe5\xae\x1b\n") == "\\xe5\\xae\\x1b\\x0a");
  CHECK(xml_text("\xef\xbf\xbf") == "\xef\xbf\xbd");
}
