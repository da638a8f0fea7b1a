import Delivery
import Notifications
import Testing

extension StoreContract {
    static let invitationPromises: [Promise] = [
        Promise("an invitation admits one device", usedOnce),
        Promise("of many that use the same invitation, one is admitted", usedByOne),
        Promise("an invitation is valid in one environment", invitesToEnvironment),
        Promise("an invitation expires", runsOut),
        Promise("checking an invitation does not use it up", askingUsesNothing),
    ]

    private static let digest = [UInt8](repeating: 7, count: 32)

    private static func invite(_ ports: Ports) async throws {
        try await ports.invitations.invite(
            Invitation(digest: digest, environment: .production, expires: Samples.later), at: Samples.moment)
    }

    @Sendable
    private static func usedOnce(_ ports: Ports) async throws {
        try await invite(ports)
        #expect(try await ports.invitations.useInvitation(digest, to: .production, at: Samples.moment))
        #expect(try await !ports.invitations.useInvitation(digest, to: .production, at: Samples.moment))
        #expect(try await !ports.invitations.isInvited(digest, to: .production, at: Samples.moment))
    }

    @Sendable
    private static func usedByOne(_ ports: Ports) async throws {
        try await invite(ports)
        let used = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    try await ports.invitations.useInvitation(digest, to: .production, at: Samples.moment)
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(used == 1)
    }

    @Sendable
    private static func invitesToEnvironment(_ ports: Ports) async throws {
        try await invite(ports)
        #expect(try await !ports.invitations.isInvited(digest, to: .development, at: Samples.moment))
        #expect(try await !ports.invitations.useInvitation(digest, to: .development, at: Samples.moment))
        #expect(try await ports.invitations.isInvited(digest, to: .production, at: Samples.moment))
    }

    @Sendable
    private static func runsOut(_ ports: Ports) async throws {
        try await invite(ports)
        #expect(try await !ports.invitations.isInvited(digest, to: .production, at: Samples.later))
        #expect(try await !ports.invitations.useInvitation(digest, to: .production, at: Samples.later))
    }

    @Sendable
    private static func askingUsesNothing(_ ports: Ports) async throws {
        try await invite(ports)
        for _ in 0..<2 {
            #expect(try await ports.invitations.isInvited(digest, to: .production, at: Samples.moment))
        }
    }
}
