import Delivery
import Notifications
import Testing

extension StoreContract {
    static let feedbackPromises: [Promise] = [
        Promise("a list is empty before anything is recorded", emptyList),
        Promise("a recorded device token is listed with the moment of its end", listsRecorded),
        Promise("recording again lists nothing twice", recordingAgain),
        Promise("what is taken stays until it is confirmed", takingKeeps),
        Promise("confirming removes what was taken, and not what was recorded since", confirmsTaken),
        Promise("a list is read in pages, oldest first", pages),
        Promise("lists of apps and environments are apart", listsAreApart),
        Promise("registering again takes the device token off its list", registeringUnlists),
        Promise("a service's device token is listed beside the app's and leaves with it", servicesAreListed),
        Promise("what is recorded after the app came back is not listed", lateRecord),
        Promise("an app that ended again is listed with the later moment", endsAgain),
        Promise("a device token of an older generation stays listed", olderGenerationStays),
        Promise("what never was registered is not listed", strangersAreNotListed),
    ]

    private static let list = FeedbackList(environment: .production, app: AppID(rawValue: 1))

    private static func token(_ number: UInt8) -> DeviceToken { DeviceToken(bytes: SIMD32(repeating: number)) }

    private static func entry(
        _ destination: Destination = Samples.destination(),
        generation: UInt32 = 1,
        token number: UInt8 = 1,
        at moment: Timestamp = Samples.later,
    ) -> FeedbackEntry {
        FeedbackEntry(destination: destination, generation: generation, token: token(number), moment: moment)
    }

    /// Registers an app, and ends the registration a minute later.
    private static func end(_ destination: Destination = Samples.destination(), in ports: Ports) async throws {
        _ = try await ports.registrations.register(destination, tokenKeyID: 1, at: Samples.moment)
        _ = try await ports.registrations.end(destination, at: Samples.later)
    }

    private static func tokens(_ list: FeedbackList = list, in ports: Ports) async throws -> [DeviceToken] {
        try await ports.feedback.entries(of: list, after: nil, limit: 100).map(\.token)
    }

    private static func device(_ number: UInt8) -> Destination {
        Samples.destination(DeviceKey(environment: .production, device: DeviceID(rawValue: UInt64(number))))
    }

    @Sendable
    private static func servicesAreListed(_ ports: Ports) async throws {
        let number = TokenNumber.make(generation: 1, service: .voip)
        try await end(in: ports)
        try await ports.feedback.record([
            entry(), entry(generation: number, token: 2), entry(generation: number, token: 2),
        ])
        #expect(try await tokens(in: ports) == [token(1), token(2)])
        _ = try await ports.registrations.register(Samples.destination(), tokenKeyID: 1, at: Samples.later)
        #expect(try await tokens(in: ports) == [])
        try await ports.feedback.record([entry(generation: number, token: 2)])
        #expect(try await tokens(in: ports) == [])
    }

    @Sendable
    private static func emptyList(_ ports: Ports) async throws {
        #expect(try await tokens(in: ports) == [])
        try await ports.feedback.confirm(list, through: FeedbackMark(rawValue: 1))
    }

    @Sendable
    private static func listsRecorded(_ ports: Ports) async throws {
        try await end(in: ports)
        try await ports.feedback.record([entry()])
        let taken = try await ports.feedback.entries(of: list, after: nil, limit: 100)
        #expect(taken.map(\.token) == [token(1)])
        #expect(taken.map(\.moment) == [Samples.later])
    }

    @Sendable
    private static func recordingAgain(_ ports: Ports) async throws {
        try await end(in: ports)
        try await ports.feedback.record([entry(), entry()])
        try await ports.feedback.record([entry()])
        #expect(try await tokens(in: ports) == [token(1)])
    }

    @Sendable
    private static func takingKeeps(_ ports: Ports) async throws {
        try await end(in: ports)
        try await ports.feedback.record([entry()])
        let first = try await ports.feedback.entries(of: list, after: nil, limit: 100)
        #expect(try await ports.feedback.entries(of: list, after: nil, limit: 100) == first)
    }

    @Sendable
    private static func confirmsTaken(_ ports: Ports) async throws {
        for number in 1...2 as ClosedRange<UInt8> { try await end(device(number), in: ports) }
        try await ports.feedback.record([entry(device(1), token: 1)])
        let taken = try await ports.feedback.entries(of: list, after: nil, limit: 100)
        try await ports.feedback.record([entry(device(2), token: 2)])
        try await ports.feedback.confirm(list, through: try #require(taken.last).mark)
        #expect(try await tokens(in: ports) == [token(2)])
        // After the list was read, another attempt adds the token again.
        try await ports.feedback.record([entry(device(1), token: 1)])
        #expect(try await tokens(in: ports) == [token(2), token(1)])
    }

    @Sendable
    private static func pages(_ ports: Ports) async throws {
        for number in 1...5 as ClosedRange<UInt8> {
            try await end(device(number), in: ports)
            try await ports.feedback.record([entry(device(number), token: number)])
        }
        let first = try await ports.feedback.entries(of: list, after: nil, limit: 2)
        let second = try await ports.feedback.entries(of: list, after: first.last?.mark, limit: 2)
        let third = try await ports.feedback.entries(of: list, after: second.last?.mark, limit: 2)
        #expect((first + second + third).map(\.token) == (1...5).map { token($0) })
        #expect(third.count == 1)
    }

    @Sendable
    private static func listsAreApart(_ ports: Ports) async throws {
        let destinations = [
            Samples.destination(), Samples.destination(app: 2), Samples.destination(Samples.twin),
        ]
        for (destination, number) in zip(destinations, 1...3 as ClosedRange<UInt8>) {
            try await end(destination, in: ports)
            try await ports.feedback.record([entry(destination, token: number)])
        }
        let otherApp = FeedbackList(environment: .production, app: AppID(rawValue: 2))
        let otherEnvironment = FeedbackList(environment: .development, app: AppID(rawValue: 1))
        #expect(try await tokens(in: ports) == [token(1)])
        #expect(try await tokens(otherApp, in: ports) == [token(2)])
        #expect(try await tokens(otherEnvironment, in: ports) == [token(3)])
        try await ports.feedback.confirm(list, through: FeedbackMark(rawValue: 1 << 32))
        #expect(try await tokens(otherApp, in: ports) == [token(2)])
        #expect(try await tokens(otherEnvironment, in: ports) == [token(3)])
    }

    @Sendable
    private static func registeringUnlists(_ ports: Ports) async throws {
        for number in 1...2 as ClosedRange<UInt8> {
            try await end(device(number), in: ports)
            try await ports.feedback.record([entry(device(number), token: number)])
        }
        _ = try await ports.registrations.register(device(1), tokenKeyID: 1, at: Samples.muchLater)
        #expect(try await tokens(in: ports) == [token(2)])
    }

    @Sendable
    private static func lateRecord(_ ports: Ports) async throws {
        try await end(in: ports)
        _ = try await ports.registrations.register(Samples.destination(), tokenKeyID: 1, at: Samples.muchLater)
        try await ports.feedback.record([entry()])
        #expect(try await tokens(in: ports) == [])
    }

    @Sendable
    private static func endsAgain(_ ports: Ports) async throws {
        try await end(in: ports)
        try await ports.feedback.record([entry()])
        _ = try await ports.registrations.register(Samples.destination(), tokenKeyID: 1, at: Samples.muchLater)
        let last = Samples.muchLater.advanced(by: .seconds(1))
        _ = try await ports.registrations.end(Samples.destination(), at: last)
        #expect(try await tokens(in: ports) == [])
        // The earlier end is no longer the registration's, so it is not listed.
        try await ports.feedback.record([entry(), entry(at: last)])
        let taken = try await ports.feedback.entries(of: list, after: nil, limit: 100)
        #expect(taken.map(\.moment) == [last])
    }

    @Sendable
    private static func olderGenerationStays(_ ports: Ports) async throws {
        _ = try await ports.registrations.register(Samples.destination(), tokenKeyID: 1, at: Samples.moment)
        try await ports.registrations.renewTokens(of: Samples.device, tokenKeyID: 1, at: Samples.later)
        try await ports.feedback.record([entry()])
        _ = try await ports.registrations.register(Samples.destination(), tokenKeyID: 1, at: Samples.muchLater)
        #expect(try await tokens(in: ports) == [token(1)])
    }

    @Sendable
    private static func strangersAreNotListed(_ ports: Ports) async throws {
        try await ports.feedback.record([entry()])
        _ = try await ports.registrations.register(Samples.destination(), tokenKeyID: 1, at: Samples.moment)
        try await ports.feedback.record([entry()])
        #expect(try await tokens(in: ports) == [])
    }
}
