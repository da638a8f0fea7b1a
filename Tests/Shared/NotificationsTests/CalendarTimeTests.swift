import Notifications
import Testing

@Suite("Dates that exist")
struct CalendarTimeTests {
    @Test(arguments: [
        "2027-01-31", "2028-02-29", "2000-02-29", "2027-12-31T23:59:59Z", "2027-06-30T00:00:00.123+02:00",
    ])
    func `A date that exists is taken`(_ text: String) { #expect(CalendarTime.exists(text)) }

    @Test(arguments: [
        "2027-02-29", "2100-02-29", "2027-06-31", "2027-13-01", "2027-00-10", "2027-01-00", "2027-01-01T24:00:00Z",
        "2027-01-01T23:60:00Z", "2027-01-01T23:59:60Z", "2027-01", "", "99999999999999999999-01-01T99",
    ])
    func `A date that does not exist is refused`(_ text: String) { #expect(!CalendarTime.exists(text)) }
}
