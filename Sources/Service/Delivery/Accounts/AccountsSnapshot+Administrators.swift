package import Notifications
package import Storage

extension AccountsSnapshot {
    /// Whether an administrator's certificate was revoked. One that is not listed was not revoked.
    package func hasRevokedAdministrator(_ serial: CertificateSerial) -> Bool {
        administrators[serial]?.revoked != nil
    }

    /// Lists a certificate.
    /// - Throws: ``StoreError/Code/exists`` or ``StoreError/Code/conflict``.
    mutating func add(_ administrator: AdministratorCertificate, at moment: Timestamp) throws(StoreError) {
        guard administrators[administrator.serial] == nil else {
            throw StoreError(.exists, "There is a certificate \(administrator.serial) already.")
        }
        removeLongExpired(at: moment)
        guard administrators.values.count(where: { $0.made != nil }) < AdministratorLimits.maximumCount else {
            throw .tooManyAdministrators
        }
        administrators[administrator.serial] = administrator
    }

    /// Revokes a listed certificate.
    /// - Returns: false if it was revoked already.
    /// - Throws: ``StoreError/Code/missing`` if it is not listed.
    mutating func revokeAdministrator(_ serial: CertificateSerial, at moment: Timestamp) throws(StoreError) -> Bool {
        guard let administrator = administrators[serial] else { throw missingAdministrator(serial) }
        guard administrator.revoked == nil else { return false }
        administrators[serial]?.revoked = moment
        return true
    }

    /// Lists a certificate as revoked.
    /// - Parameter validUntil: a moment at which the certificate has expired.
    /// - Returns: false if it was revoked already.
    /// - Throws: ``StoreError/Code/missing`` if no administrator can have this serial number, or
    ///   ``StoreError/Code/conflict``.
    mutating func revokeUnlistedAdministrator(
        _ serial: CertificateSerial,
        validUntil: Timestamp,
        at moment: Timestamp,
    ) throws(StoreError) -> Bool {
        guard administrators[serial] == nil else { return try revokeAdministrator(serial, at: moment) }
        guard certificates[serial] == nil else { throw missingAdministrator(serial) }
        // A store could not read such a number back, and would then refuse to open.
        guard serial.mayBeIssued else {
            throw StoreError(.missing, "No certificate of this service can have the serial \(serial).")
        }
        removeLongExpired(at: moment)
        guard administrators.values.count(where: { $0.made == nil }) < AdministratorLimits.maximumUnlisted else {
            throw .tooManyUnlistedAdministrators
        }
        administrators[serial] = AdministratorCertificate(
            serial: serial, made: nil, validUntil: validUntil, revoked: moment)
        return true
    }

    /// Removes the certificates that expired so long ago that their revocation no longer matters.
    private mutating func removeLongExpired(at moment: Timestamp) {
        administrators = administrators.filter {
            $0.value.validUntil.advanced(by: AdministratorLimits.keptAfterExpiry) >= moment
        }
    }

    private func missingAdministrator(_ serial: CertificateSerial) -> StoreError {
        guard certificates[serial] == nil else {
            return StoreError(
                .missing, "\(serial) is a provider certificate; carillon certificate revoke revokes it.")
        }
        return StoreError(
            .missing,
            "There is no administrator \(serial); carillon administrator list shows all of them. revoke --unlisted "
                + "revokes one that is not listed.")
    }
}

extension StoreError {
    /// There are too many administrators' certificates that have not expired.
    package static let tooManyAdministrators = StoreError(
        .conflict,
        "\(AdministratorLimits.maximumCount) administrators' certificates are listed; wait until some have expired.")

    /// There are too many revocations of administrators' certificates that were not listed.
    package static let tooManyUnlistedAdministrators = StoreError(
        .conflict,
        "\(AdministratorLimits.maximumUnlisted) certificates that were not listed are revoked; wait until some have "
            + "expired.")
}
