"""No model is asked here."""

from travelguide.agent import get_weather


def test_weather_of_an_unknown_city_is_unknown() -> None:
    assert get_weather.invoke({"city": "Atlantis"}) == "nobody knows"
