import Foundation
import Testing

@testable import carillon

struct BannerDrawingTests {
    @Test(arguments: [
        (0, "00:00"), (5 * 60, "00:05"), (8 * 3600 + 60, "08:01"), (12 * 3600, "12:00"), (72_060, "20:01"),
    ])
    func `The time on a banner has 24 hours`(_ seconds: Int, _ text: String) throws {
        let moment = Date(timeIntervalSince1970: 1_800_057_600 + Double(seconds))
        #expect(BannerDrawing.time(moment, in: .gmt) == text)
    }
}
