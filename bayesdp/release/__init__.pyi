from .parts import MANIFEST as MANIFEST
from .parts import OUTPUTS as OUTPUTS
from .parts import Part as Part
from .release import Release as Release
