import Delivery
import Testing

@testable import Courier

struct AcknowledgementReaderTests {
    private static func read(_ count: Int) -> [UInt64]? {
        let numbers = (1...count).map { "\($0)" }.joined(separator: ",")
        return AcknowledgementReader.read(Array(#"{"sendings":[\#(numbers)]}"#.utf8).span)
    }

    @Test func `One line may have all that a device can have unacknowledged, and no more`() {
        let most = DeliveryLimits.mostUnacknowledged + ChannelLimits.mostUnacknowledged
        #expect(Self.read(most)?.count == most)
        #expect(Self.read(most + 1) == nil)
    }
}
