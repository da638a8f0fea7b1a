import Testing

@testable import APNSProvider

@Suite("Notifications that a binary connection may still refuse")
struct BinaryWindowTests {
    private static let lost = BinaryWindow.End.lost(ProviderError(.connectionLost, "A test wants it so."))

    private static func packet(_ code: BinaryErrorCode, _ identifier: UInt32) -> BinaryWindow.End {
        .packet(code, identifier: identifier)
    }

    private static let allSafe = packet(.missingDeviceToken, BinaryWindow.probe)

    @Test
    func `The packet for the probe shows that everything before it was accepted`() {
        var window = BinaryWindow(count: 3)
        #expect(window.next == 0..<3)
        let step = window.ended(Self.allSafe)
        #expect(step == .finished)
        #expect(window.outcomes == [.accepted, .accepted, .accepted])
    }

    @Test
    func `At most as many notifications are sent ahead as are kept`() {
        var window = BinaryWindow(count: 5, limits: .init(kept: 2))
        #expect(window.next == 0..<2)
        _ = window.ended(Self.allSafe)
        #expect(window.next == 2..<4)
        _ = window.ended(Self.allSafe)
        #expect(window.next == 4..<5)
        let step = window.ended(Self.allSafe)
        #expect(step == .finished)
    }

    @Test
    func `After an error packet, exactly the notifications after the faulty one are sent again, at once`() {
        var window = BinaryWindow(count: 5)
        let step = window.ended(Self.packet(.invalidToken, BinaryWindow.identifier(1)))
        #expect(step == .connect(after: .zero))
        #expect(window.next == 2..<5)
        #expect(window.outcomes == [.accepted, .refused(.invalidToken), nil, nil, nil])
    }

    @Test
    func `If the last notification is the faulty one, nothing is sent again`() {
        var window = BinaryWindow(count: 2)
        let step = window.ended(Self.packet(.invalidPayloadSize, BinaryWindow.identifier(1)))
        #expect(step == .finished)
        #expect(window.outcomes == [.accepted, .refused(.invalidPayloadSize)])
    }

    @Test
    func `After a shutdown, the notifications after the last accepted one are sent again`() {
        var window = BinaryWindow(count: 4)
        let step = window.ended(Self.packet(.shutdown, BinaryWindow.identifier(2)))
        #expect(step == .connect(after: .zero))
        #expect(window.next == 3..<4)
    }

    @Test
    func `After a shutdown before any acceptance, everything is sent again after a while`() {
        var window = BinaryWindow(count: 4)
        let step = window.ended(Self.packet(.shutdown, 0))
        #expect(step == .connect(after: .seconds(1)))
        #expect(window.next == 0..<4)
    }

    @Test
    func `After a processing error a notification is tried again a few times with growing delays, then it has failed`()
    {
        var window = BinaryWindow(count: 2)
        let end = Self.packet(.processingError, BinaryWindow.identifier(0))
        let steps = (0..<4).map { _ in window.ended(end) }
        #expect(
            steps == [
                .connect(after: .seconds(1)), .connect(after: .seconds(2)), .connect(after: .seconds(4)),
                .connect(after: .zero),
            ])
        #expect(window.outcomes == [.refused(.processingError), nil])
    }

    @Test
    func `After a connection that ends without a packet, sending is tried again a few times, then the rest has failed`()
    {
        var window = BinaryWindow(count: 2)
        let steps = (0..<4).map { _ in window.ended(Self.lost) }
        #expect(
            steps == [
                .connect(after: .seconds(1)), .connect(after: .seconds(2)), .connect(after: .seconds(4)), .finished,
            ])
        guard case .failed = window.outcomes[1] else { return #expect(Bool(false), "\(window.outcomes)") }
    }

    @Test
    func `What was sent on a lost connection may have been taken, and what was not sent has not`() {
        var window = BinaryWindow(count: 4, limits: .init(kept: 2))
        _ = window.ended(Self.lost)
        let refused = ProviderError(.cannotConnect, "A test wants it so.")
        for _ in 0..<3 { _ = window.notConnected(refused) }
        #expect(Self.mayBeTaken(window) == [true, true, false, false])
    }

    @Test(arguments: [BinaryErrorCode.shutdown, .processingError])
    func `What was sent after the notification that an error packet names may have been taken`(
        code: BinaryErrorCode
    ) {
        var window = BinaryWindow(count: 4, limits: .init(kept: 3))
        _ = window.ended(Self.packet(code, BinaryWindow.identifier(1)))
        window.giveUp(ProviderError(.cannotConnect, "A test wants it so."))
        #expect(Self.mayBeTaken(window).suffix(2) == [true, false])
    }

    /// What the failures say; nil for notifications that have not failed.
    private static func mayBeTaken(_ window: BinaryWindow) -> [Bool?] {
        window.outcomes.map { outcome in
            guard case .failed(let error) = outcome else { return nil }
            return error.mayHaveBeenTaken
        }
    }

    @Test
    func `What a cancelled task has sent may have been taken`() {
        var window = BinaryWindow(count: 2, limits: .init(kept: 1))
        _ = window.ended(Self.lost)
        window.giveUp(ProviderError(.cancelled, "A test wants it so."))
        guard case .failed(let sent)? = window.outcomes[0], case .failed(let rest)? = window.outcomes[1] else {
            return #expect(Bool(false), "\(window.outcomes)")
        }
        #expect(sent.mayHaveBeenTaken && !rest.mayHaveBeenTaken)
    }

    @Test
    func `Any progress resets the count of failures`() {
        var window = BinaryWindow(count: 9)
        for _ in 0..<3 { _ = window.ended(Self.lost) }
        _ = window.ended(Self.packet(.invalidToken, BinaryWindow.identifier(3)))
        let step = window.ended(Self.lost)
        #expect(step == .connect(after: .seconds(1)))
    }

    @Test
    func `An identifier that was not sent is not progress`() {
        var window = BinaryWindow(count: 2)
        for identifier in [0, 77] as [UInt32] {
            let step = window.ended(Self.packet(.protocolError, identifier))
            guard case .connect(let delay) = step else { return #expect(Bool(false)) }
            #expect(delay > .zero && window.next == 0..<2)
        }
    }

    @Test
    func `A notification with a value that does not fit its field is refused`() throws {
        #expect(throws: ProviderError.self) { try BinaryPush(deviceToken: "0", payload: []) }
        #expect(throws: ProviderError.self) { try BinaryPush(deviceToken: "zz", payload: []) }
        #expect(throws: ProviderError.self) {
            try BinaryPush(deviceToken: "00", payload: [UInt8](repeating: 0, count: 65_536))
        }
        #expect(try BinaryPush(deviceToken: "0aFF", payload: []).deviceToken == [10, 255])
    }
}
