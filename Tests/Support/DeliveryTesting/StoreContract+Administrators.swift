import CommonTesting
import Delivery
import Notifications
import Storage
import Testing

extension StoreContract {
    static let administratorPromises: [Promise] = [
        Promise("an administrator's certificate reads back as it was", administratorReadsBack),
        Promise("a revoked administrator has the time of its first revocation", revokesAdministrator),
        Promise("an administrator that is not listed is not revoked, and cannot be by mistake", missesAdministrator),
        Promise("an administrator that is not listed can be revoked on request", revokesUnlisted),
        Promise("a serial that the authority cannot give out is never stored", refusesImpossibleSerial),
        Promise("administrators that expired long ago are removed when another one is made", removesLongExpired),
        Promise("deleting a team leaves the administrators", keepsAdministrators),
    ]

    private static func administrator(
        validUntil: Timestamp = Samples.muchLater,
    ) -> AdministratorCertificate {
        var random = SeededGenerator.random()
        return AdministratorCertificate(
            serial: .random(using: &random), made: Samples.moment, validUntil: validUntil)
    }

    @Sendable
    private static func administratorReadsBack(_ ports: Ports) async throws {
        let (one, other) = (administrator(), administrator())
        _ = try await ports.accounts.apply(.createAdministrator(one, at: Samples.moment))
        let accounts = try await ports.accounts.apply(.createAdministrator(other, at: Samples.moment))
        #expect(accounts.administrators == [one.serial: one, other.serial: other])
        #expect(ports.accounts.current.administrators == accounts.administrators)
        await expectFailure(.exists) {
            _ = try await ports.accounts.apply(.createAdministrator(one, at: Samples.moment))
        }
    }

    @Sendable
    private static func revokesAdministrator(_ ports: Ports) async throws {
        let (one, other) = (administrator(), administrator())
        for administrator in [one, other] {
            _ = try await ports.accounts.apply(.createAdministrator(administrator, at: Samples.moment))
        }
        let first = try await ports.accounts.apply(.revokeAdministrator(one.serial, at: Samples.moment))
        let accounts = try await ports.accounts.apply(.revokeAdministrator(one.serial, at: Samples.later))
        #expect(accounts.version == first.version)
        #expect(accounts.administrators[one.serial]?.revoked == Samples.moment)
        #expect(accounts.hasRevokedAdministrator(one.serial))
        #expect(!accounts.hasRevokedAdministrator(other.serial))
    }

    @Sendable
    private static func missesAdministrator(_ ports: Ports) async throws {
        let serial = administrator().serial
        #expect(!ports.accounts.current.hasRevokedAdministrator(serial))
        await expectFailure(.missing) {
            _ = try await ports.accounts.apply(.revokeAdministrator(serial, at: Samples.moment))
        }
        #expect(ports.accounts.current.administrators.isEmpty)
    }

    @Sendable
    private static func revokesUnlisted(_ ports: Ports) async throws {
        let serial = administrator().serial
        for moment in [Samples.moment, Samples.later] {
            let accounts = try await ports.accounts.apply(
                .revokeUnlistedAdministrator(serial, validUntil: Samples.muchLater, at: moment))
            let expected = AdministratorCertificate(
                serial: serial, made: nil, validUntil: Samples.muchLater, revoked: Samples.moment)
            #expect(accounts.administrators == [serial: expected])
            #expect(accounts.hasRevokedAdministrator(serial))
        }
        // A certificate that is listed stays as it was listed.
        let listed = administrator()
        _ = try await ports.accounts.apply(.createAdministrator(listed, at: Samples.moment))
        let accounts = try await ports.accounts.apply(
            .revokeUnlistedAdministrator(listed.serial, validUntil: Samples.later, at: Samples.later))
        var expected = listed
        expected.revoked = Samples.later
        #expect(accounts.administrators[listed.serial] == expected)
    }

    @Sendable
    private static func refusesImpossibleSerial(_ ports: Ports) async throws {
        for digit in ["0", "3", "8", "f"] {
            let serial = try #require(CertificateSerial(String(repeating: digit, count: 32)))
            await expectFailure(.missing) {
                _ = try await ports.accounts.apply(
                    .revokeUnlistedAdministrator(serial, validUntil: Samples.muchLater, at: Samples.moment))
            }
        }
        #expect(ports.accounts.current.administrators.isEmpty)
    }

    @Sendable
    private static func removesLongExpired(_ ports: Ports) async throws {
        let (old, recent) = (administrator(validUntil: Samples.moment), administrator(validUntil: Samples.later))
        for administrator in [old, recent] {
            _ = try await ports.accounts.apply(.createAdministrator(administrator, at: Samples.moment))
        }
        _ = try await ports.accounts.apply(.revokeAdministrator(old.serial, at: Samples.moment))
        let new = administrator(validUntil: .init(milliseconds: .max))
        let moment = Samples.later.advanced(by: AdministratorLimits.keptAfterExpiry)
        let accounts = try await ports.accounts.apply(.createAdministrator(new, at: moment))
        #expect(accounts.administrators == [recent.serial: recent, new.serial: new])
    }

    @Sendable
    private static func keepsAdministrators(_ ports: Ports) async throws {
        let (team, administrator) = (try Samples.team(), administrator())
        _ = try await ports.accounts.apply(.createTeam(team))
        _ = try await ports.accounts.apply(.createAdministrator(administrator, at: Samples.moment))
        let accounts = try await ports.accounts.apply(.deleteTeam(team.id, at: Samples.later))
        #expect(accounts.administrators == [administrator.serial: administrator])
    }
}
