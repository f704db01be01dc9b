//! What a port can do, a name a bit, as `smpquery portinfo` lists it: indented lines under the mask.

/// Bits of [`crate::PortInfo::capability_mask`] by the names that the tools print.
pub const CAPABILITY_NAMES: [(u32, &str); 30] = [
    (1, "IsSM"),
    (2, "IsNoticeSupported"),
    (3, "IsTrapSupported"),
    (4, "IsOptionalIPDSupported"),
    (5, "IsAutomaticMigrationSupported"),
    (6, "IsSLMappingSupported"),
    (7, "IsMKeyNVRAM"),
    (8, "IsPKeyNVRAM"),
    (9, "IsLedInfoSupported"),
    (10, "IsSMdisabled"),
    (11, "IsSystemImageGUIDsupported"),
    (12, "IsPkeySwitchExternalPortTrapSupported"),
    (14, "IsExtendedSpeedsSupported"),
    (15, "IsCapabilityMask2Supported"),
    // Spelled as the tools have it.
    (16, "IsCommunicatonManagementSupported"),
    (17, "IsSNMPTunnelingSupported"),
    (18, "IsReinitSupported"),
    (19, "IsDeviceManagementSupported"),
    (20, "IsVendorClassSupported"),
    (21, "IsDRNoticeSupported"),
    (22, "IsCapabilityMaskNoticeSupported"),
    (23, "IsBootManagementSupported"),
    (24, "IsLinkRoundTripLatencySupported"),
    (25, "IsClientRegistrationSupported"),
    (26, "IsOtherLocalChangesNoticeSupported"),
    (27, "IsLinkSpeedWidthPairsTableSupported"),
    (28, "IsVendorSpecificMadsTableSupported"),
    (29, "IsMcastPkeyTrapSuppressionSupported"),
    (30, "IsMulticastFDBTopSupported"),
    (31, "IsHierarchyInfoSupported"),
];

/// Bits of [`crate::PortInfo::capability_mask2`] by the names that the tools print.
pub const CAPABILITY2_NAMES: [(u32, &str); 11] = [
    (0, "IsSetNodeDescriptionSupported"),
    (1, "IsPortInfoExtendedSupported"),
    (2, "IsVirtualizationSupported"),
    (3, "IsSwitchPortStateTableSupported"),
    (4, "IsLinkWidth2xSupported"),
    (5, "IsLinkSpeedHDRSupported"),
    (6, "IsMKeyProtectBitsExtSupported"),
    (7, "IsEnhancedTrap128Supported"),
    (8, "IsPartitionTopSupported"),
    (9, "IsEnhancedQoSArbiterSupported"),
    (10, "IsLinkSpeedNDRSupported"),
];

pub(crate) fn capability_mask(bits: u64, _width: usize) -> String {
    listed(bits, &CAPABILITY_NAMES)
}

pub(crate) fn capability_mask2(bits: u64, _width: usize) -> String {
    listed(bits, &CAPABILITY2_NAMES)
}

fn listed(bits: u64, names: &[(u32, &str)]) -> String {
    let mut text = format!("{bits:#x}");
    for (_, name) in names.iter().filter(|(bit, _)| bits >> bit & 1 == 1) {
        text.push_str("\n\t\t\t\t");
        text.push_str(name);
    }
    text
}
