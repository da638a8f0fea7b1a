import Delivery
import Notifications
import Storage
import Testing

/// How many administrators' certificates are listed, and for how long.
struct AdministratorLimitsTests {
    private static let moment = Timestamp(seconds: 1_800_000_000)
    private static let later = moment.advanced(by: .seconds(3600))

    private static func serial(_ number: Int) throws -> CertificateSerial {
        let digits = String(number, radix: 16)
        return try #require(CertificateSerial("41" + String(repeating: "0", count: 30 - digits.count) + digits))
    }

    private static func listed(_ number: Int, revoked: Bool = false) throws -> AdministratorCertificate {
        AdministratorCertificate(
            serial: try serial(number), made: moment, validUntil: later, revoked: revoked ? moment : nil)
    }

    private static func unlisted(_ number: Int) throws -> AdministratorCertificate {
        AdministratorCertificate(serial: try serial(number), made: nil, validUntil: later, revoked: moment)
    }

    private func apply(_ change: AccountChange, to accounts: AccountsSnapshot) throws(StoreError) -> AccountsSnapshot? {
        try accounts.applying(change, nextAppID: AppID(rawValue: 1))
    }

    @Test func `A full list takes no new certificate until some have expired, and still takes revocations`() throws {
        let full = try AccountsSnapshot(
            version: 1,
            administrators: (0..<AdministratorLimits.maximumCount).map {
                try Self.listed($0, revoked: $0.isMultiple(of: 2))
            })
        let new = AdministratorCertificate(
            serial: try Self.serial(.max), made: Self.moment, validUntil: Self.later.advanced(by: .seconds(1)))
        #expect(throws: StoreError.tooManyAdministrators) {
            try apply(.createAdministrator(new, at: Self.moment), to: full)
        }
        let revoked = try apply(.revokeAdministrator(try Self.serial(1), at: Self.moment), to: full)
        #expect(revoked?.hasRevokedAdministrator(try Self.serial(1)) == true)
        let unlisted = try apply(
            .revokeUnlistedAdministrator(new.serial, validUntil: Self.later, at: Self.moment), to: full)
        #expect(unlisted?.hasRevokedAdministrator(new.serial) == true)
        // They expire all at once, and are kept for a while after that.
        let kept = Self.later.advanced(by: AdministratorLimits.keptAfterExpiry)
        #expect(throws: StoreError.tooManyAdministrators) {
            try apply(.createAdministrator(new, at: kept), to: full)
        }
        let after = try apply(.createAdministrator(new, at: kept.advanced(by: .milliseconds(1))), to: full)
        #expect(after?.administrators == [new.serial: new])
    }

    @Test func `Revocations of certificates that were not listed have a limit of their own`() throws {
        let full = try AccountsSnapshot(
            version: 1, administrators: (0..<AdministratorLimits.maximumUnlisted).map { try Self.unlisted($0) })
        let new = try Self.listed(.max)
        #expect(throws: StoreError.tooManyUnlistedAdministrators) {
            try apply(
                .revokeUnlistedAdministrator(new.serial, validUntil: Self.later, at: Self.moment), to: full)
        }
        // One that is there already has no effect, and is no error.
        let again = try apply(
            .revokeUnlistedAdministrator(try Self.serial(3), validUntil: Self.later, at: Self.moment), to: full)
        #expect(again == nil)
        let added = try apply(.createAdministrator(new, at: Self.moment), to: full)
        #expect(added?.administrators[new.serial] == new)
    }

    @Test func `A provider certificate is not revoked as an administrator's, and the error says how it is`() throws {
        let bundleID = try #require(BundleID(rawValue: "com.example.app"))
        let certificate = TeamCertificate(
            serial: try Self.serial(1), team: try #require(TeamID(rawValue: "TEAM000001")), bundleID: bundleID,
            environments: [.production], validUntil: Self.later)
        let accounts = AccountsSnapshot(version: 1, certificates: [certificate])
        for change in [
            .revokeAdministrator(certificate.serial, at: Self.moment),
            .revokeUnlistedAdministrator(certificate.serial, validUntil: Self.later, at: Self.moment),
        ] as [AccountChange] {
            #expect {
                try apply(change, to: accounts)
            } throws: { error in
                guard let error = error as? StoreError else { return false }
                return error.code == .missing && error.cause.contains("carillon certificate revoke")
            }
        }
    }
}
